import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";

/** Each kind of fingerprint, its column, and the column of what names the program that made it. */
const KINDS = {
  hassh: { column: "ssh_hassh", program: "ssh_banner" },
  ja3: { column: "tls_ja3", program: "http_user_agent" },
  ja4: { column: "tls_ja4", program: "http_user_agent" },
} as const;
export type FingerprintKind = keyof typeof KINDS;
export const FINGERPRINT_KINDS: readonly FingerprintKind[] = ["hassh", "ja3", "ja4"];

/** FINAL: an observation that was stored twice counts once, with its latest content. */
const SINCE = `FROM ${OBSERVATIONS} FINAL WHERE observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
/** Beyond so much memory the server groups on disk. */
const SETTINGS =
  "SETTINGS do_not_merge_across_partitions_select_final = 1, max_bytes_before_external_group_by = 1000000000";

const topOf = (kind: FingerprintKind) =>
  defineQuery({
    name: `fingerprints-${kind}`,
    sql: `SELECT ${KINDS[kind].column} AS fingerprint, count() AS observations, uniqExact(source_ip) AS addresses,
        toUnixTimestamp64Milli(min(observed_at)) AS firstSeen, toUnixTimestamp64Milli(max(observed_at)) AS lastSeen
      ${SINCE} AND ${KINDS[kind].column} != ''
      GROUP BY fingerprint ORDER BY addresses DESC, observations DESC, fingerprint LIMIT {limit:UInt32} ${SETTINGS}`,
    params: z.object({ since: z.int(), limit: z.int() }),
    row: z.object({
      fingerprint: z.string(),
      observations: z.int(),
      addresses: z.int(),
      firstSeen: z.int(),
      lastSeen: z.int(),
    }),
  });

/** Reads the long texts of the rows with the fingerprints that are shown, and of no other. */
const programsOf = (kind: FingerprintKind) =>
  defineQuery({
    name: `fingerprint-programs-${kind}`,
    sql: `SELECT ${KINDS[kind].column} AS fingerprint, ${KINDS[kind].program} AS program, count() AS observations,
        uniqExact(source_ip) AS addresses, count() OVER (PARTITION BY fingerprint) AS programs
      ${SINCE} AND ${KINDS[kind].column} IN {fingerprints:Array(String)} AND program != ''
      GROUP BY fingerprint, program ORDER BY addresses DESC, observations DESC, program
      LIMIT {programs:UInt32} BY fingerprint ${SETTINGS}`,
    params: z.object({ since: z.int(), programs: z.int(), fingerprints: z.array(z.string()) }),
    row: z.object({
      fingerprint: z.string(),
      program: z.string(),
      observations: z.int(),
      addresses: z.int(),
      programs: z.int(),
    }),
  });

/** A banner or user agent that a fingerprint was seen with. */
export type FingerprintProgram = {
  readonly text: string;
  readonly observations: number;
  readonly addresses: number;
};

export type Fingerprint = z.output<ReturnType<typeof topOf>["row"]> & {
  readonly kind: FingerprintKind;
  /** Those that most addresses had, the first ones of `distinct`. */
  readonly programs: readonly FingerprintProgram[];
  readonly distinct: number;
};

export type FingerprintQuery = {
  /** The oldest observations that count, in milliseconds since 1970 UTC. */
  readonly since: number;
  readonly limit: number;
  /** How many banners or user agents of each. */
  readonly programs: number;
};

/** The fingerprints of a kind that most addresses had. */
export async function readFingerprints(
  client: ClickHouseClient,
  kind: FingerprintKind,
  { since, limit, programs }: FingerprintQuery,
): Promise<Fingerprint[]> {
  const top = await run(client, topOf(kind), { since, limit });
  if (top.length === 0) return [];
  const fingerprints = top.map(({ fingerprint }) => fingerprint);
  const seenWith = await run(client, programsOf(kind), { since, programs, fingerprints });
  return top.map((row) => {
    const own = seenWith.filter(({ fingerprint }) => fingerprint === row.fingerprint);
    return {
      ...row,
      kind,
      programs: own.map(({ program: text, observations, addresses }) => ({ text, observations, addresses })),
      distinct: own[0]?.programs ?? 0,
    };
  });
}
