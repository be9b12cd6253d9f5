import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Settings } from "@noisefloor/config/settings.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { splitAddress } from "@noisefloor/ingest/formats/addresses.ts";
import { findFormats } from "@noisefloor/ingest/formats/all.ts";
import { assertOutside, type FollowTarget, readTarget } from "@noisefloor/ingest/sources/follow/files/targets.ts";
import { TPOT_LOGS } from "@noisefloor/ingest/sources/follow/tpot/logs.ts";
import { readTpotHostname, readTpotOwnAddresses } from "@noisefloor/ingest/sources/follow/tpot/own-addresses.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { SensorFormats } from "./formats.ts";
import type { CloseStack } from "./framework/close-stack.ts";
import { UserError } from "./framework/command.ts";

export type TargetsContext = {
  readonly settings: Pick<Settings, "follow" | "tpotData" | "clickhouse">;
  readonly log: Logger;
  readonly closeStack: Pick<CloseStack, "add">;
};

/** The files that the settings tell to follow. @throws UserError for a format or a folder that is not there. */
export async function openTargets(context: TargetsContext, formats: SensorFormats): Promise<readonly FollowTarget[]> {
  const { follow, tpotData, clickhouse } = context.settings;
  return [
    ...parseTargets("FOLLOW", follow, clickhouse.dataDir, formats),
    ...(tpotData === undefined ? [] : await openTpot(tpotData, context, formats)),
  ];
}

/** @param name of the setting or argument, for errors. */
export function parseTargets(
  name: string,
  texts: readonly string[],
  dataDirectory: string,
  formats: SensorFormats,
): readonly FollowTarget[] {
  try {
    const targets = texts.map((text) => readTarget(text, formats));
    assertOutside(targets, dataDirectory);
    return targets;
  } catch (error) {
    if (error instanceof RangeError) throw new UserError(`${name}: ${error.message}`);
    throw error;
  }
}

/** T-Pot writes its addresses anew at each of its starts. */
const ADDRESSES_MS = 60_000;

async function openTpot(
  folder: string,
  { log, closeStack }: TargetsContext,
  { formats, decode }: SensorFormats,
): Promise<readonly FollowTarget[]> {
  const root = resolve(folder);
  if (!existsSync(root)) throw new UserError(`TPOT_DATA: ${root} does not exist; T-Pot's is /home/USER/tpotce/data`);
  const [sensorId, addresses] = await Promise.all([readTpotHostname(root), readTpotOwnAddresses(root)]).catch(
    (error: unknown) => {
      if (!(error instanceof Error && "code" in error && error.code === "EACCES")) throw error;
      const remedy = "T-Pot's files are those of group 2000: add the user to it, a container by group_add";
      throw new UserError(`TPOT_DATA: user ${process.getuid?.()} may not read ${root}: ${remedy}`);
    },
  );
  let own: ReadonlySet<string> = new Set(addresses);
  if (own.size === 0)
    log.warn({ folder: root }, "T-Pot's own addresses are not known: if it is set up, set OWN_ADDRESSES");
  const readAgain = async () => {
    own = new Set(await readTpotOwnAddresses(root));
  };
  const { stop } = repeatEvery(readAgain, {
    everyMs: ADDRESSES_MS,
    onError: (error) => log.warn({ err: error, folder: root }, "reading T-Pot's own addresses failed, retrying"),
  });
  closeStack.add(stop);
  const isOwnAddress = (text: string) => own.has(splitAddress(text).address) || decode.isOwnAddress(text);
  return TPOT_LOGS.map(({ pattern, format }) => ({
    pattern: join(root, pattern),
    sensor: sensorId,
    format,
    formats: findFormats(format, formats) ?? [],
    decode: { ...decode, sensorId, isOwnAddress },
  }));
}
