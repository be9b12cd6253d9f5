import { readTagProvenance, type TagProvenance } from "@noisefloor/clickhouse/tags/tag-provenance.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { closingAfter, openPreparedStore } from "../../store/store.ts";

/** `noisefloor tags explain --address`: who gave an address each of its tags, and when. */
export async function runTagsExplainAddress(
  ip: string,
  options: OutputOptions,
  context: CommandContext,
): Promise<void> {
  if (!isIpv4(ip)) throw new UserError(`--address takes an IPv4 address like 8.8.8.8, not "${printable(ip)}"`);
  const store = await openPreparedStore(context.settings);
  await closingAfter(store, async (client) => {
    const slugs = new Map((await tagRecords.read(client)).map(({ id, slug }) => [id, slug]));
    const provenance = await readTagProvenance(client, ip, retentionStart(Date.now(), store.retentionDays));
    const rows = provenance.map((one) => {
      const { dataset, workspace, observations, sensors } = one;
      return {
        tag: slugs.get(one.id) ?? one.id,
        given_by: giversOf(one),
        ...{ dataset: workspace === "" ? dataset : `${dataset} (${workspace})`, observations },
        first_seen: formatTime(one.firstSeen),
        last_seen: formatTime(one.lastSeen),
        sensors: options.json ? sensors : sensors.join(", "),
      };
    });
    show(rows, options, context);
  });
}

function giversOf({ byRule, bySender }: TagProvenance): string {
  return [...(byRule > 0 ? ["rule"] : []), ...(bySender > 0 ? ["sender"] : [])].join(" and ");
}

const formatTime = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
