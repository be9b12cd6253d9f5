import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { EventAddress } from "@noisefloor/domain/watches/event.ts";
import { MAX_LISTED } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import { type LookupDeps, lookUpMany } from "../../address/store-lookup.ts";
import { allRows, IN_SCOPES, scopesParam } from "../../scope-sql.ts";

const firstSeen = defineQuery({
  name: "watch-first-seen",
  sql: `SELECT toString(source_ip) AS ip, toUnixTimestamp64Milli(min(observed_at)) AS first FROM ${OBSERVATIONS}
    PREWHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
      AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY source_ip`,
  combine: allRows,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({ ip: z.string(), first: z.int() }),
});

/** The first addresses of an event as it lists them, by number, with the names of their tags. */
export async function describeAddresses(
  subjects: ReadonlyMap<number, number>,
  scopes: readonly Scope[],
  deps: LookupDeps,
  signal: AbortSignal,
) {
  const listed = [...subjects.keys()].sort((one, other) => one - other).slice(0, MAX_LISTED);
  const ips = listed.map(numberToIpv4);
  const since = retentionStart(deps.now(), deps.retentionDays());
  const [records, rows] = await Promise.all([
    lookUpMany(ips, scopes, deps, signal),
    deps.read(firstSeen, { ips, scopes: [...scopes], since }, signal),
  ]);
  const first = new Map(rows.map((row) => [row.ip, row.first]));
  const names = new Set<string>();
  const addresses = ips.map((ip, index): EventAddress => {
    const noise = records.get(ip)?.noise;
    const tags = (noise?.tagIds ?? []).flatMap((id) => deps.catalogue.byId(id) ?? []);
    for (const { name } of tags) names.add(name);
    // What was stored a moment ago need not be in every table yet.
    const seen = (subjects.get(listed[index] ?? 0) ?? 0) * 1_000;
    return {
      ip,
      first_seen: formatTimestamp(first.get(ip) ?? seen),
      last_seen: formatTimestamp(Math.max(noise?.lastSeen ?? 0, seen)),
      classification: noise?.classification ?? "unknown",
      tags: tags.map(({ slug }) => slug).sort(),
    };
  });
  return { addresses, names: [...names].sort() };
}

/** `SSH Bruteforcer, Mirai and 3 more`; empty for none. */
export function nameSome(names: readonly string[], most = 3): string {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(", ")} and ${more} more` : names.join(", ");
}
