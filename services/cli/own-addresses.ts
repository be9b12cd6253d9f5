import { type OwnAddress, type SeenFlow, watchOwnAddresses } from "@noisefloor/domain/sensors/own-address.ts";
import { type LogFile, type ReadFileOptions, readFile } from "@noisefloor/ingest/sources/file/log-files.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { CommandContext } from "./framework/command.ts";
import { confirm } from "./framework/confirm.ts";
import { printable } from "./framework/output.ts";

/** Read of a file before any of it is stored. */
const FIRST_RECORDS = 20_000;
/** A log without a flow among as many has none: only passive monitors write flows. */
const RECORDS_BEFORE_FLOW = 1_000;

/** @throws UserError unless the user confirms, when the first records of a file have a sensor's own address as a source. */
export async function confirmSources(
  files: readonly LogFile[],
  { formats, decode }: Pick<ReadFileOptions, "formats" | "decode">,
  { yes }: { readonly yes: boolean },
  context: Pick<CommandContext, "ask">,
): Promise<void> {
  if (yes) return;
  const watch = watchOwnAddresses();
  for (const file of files) {
    let records = 0;
    let limit = RECORDS_BEFORE_FLOW;
    const onFlow = (flow: SeenFlow) => {
      limit = FIRST_RECORDS;
      watch.add(flow);
    };
    for await (const _record of readFile(file, { formats, decode: { ...decode, onFlow } })) {
      if (++records >= limit) break;
    }
  }
  const found = watch.found();
  if (found.length === 0) return;
  const effect = `${found.map(describeOwn).join("; ")}. Set OWN_ADDRESSES=${found.map(({ address }) => address).join(",")}, else what it sent is stored as scans`;
  await confirm(effect, { yes }, context);
}

/** @returns an `onFlow` that warns of each sensor whose own address is a source, for what is stored as it comes. */
export function warnOfOwnAddresses(log: Pick<Logger, "warn">): (flow: SeenFlow) => void {
  const watch = watchOwnAddresses();
  return (flow) => {
    const own = watch.add(flow);
    if (own === undefined) return;
    log.warn(own, `${describeOwn(own)}. Set OWN_ADDRESSES; "noisefloor doctor" says how to remove what is stored`);
  };
}

/** As half a sentence. */
export function describeOwn({ sensor, address, begun, flows }: OwnAddress): string {
  const share = Math.round((begun / flows) * 100);
  return `${address} looks like the own address of the sensor ${printable(sensor)}: one end of nearly all flows, and the source of ${share} %`;
}
