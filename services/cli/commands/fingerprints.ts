import {
  FINGERPRINT_KINDS,
  type Fingerprint,
  type FingerprintKind,
  readFingerprints,
} from "@noisefloor/clickhouse/observations/fingerprints.ts";
import { Option } from "commander";
import type { CommandContext } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { type OutputOptions, printable, show } from "../framework/output.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { readSince } from "../framework/since.ts";
import { withStoreToRead } from "../store/store.ts";

export type FingerprintsOptions = OutputOptions & {
  readonly since: string;
  readonly kind?: FingerprintKind | undefined;
  readonly limit: number;
};

export const define: DefineCommand = (fingerprints, createContext) => {
  fingerprints
    .option("--since <time>", "only observations from an RFC 3339 time on, or from 12h or 7d ago on", "7d")
    .addOption(new Option("--kind <kind>", "only these (default: all)").choices(FINGERPRINT_KINDS))
    .option("--limit <n>", "how many of each kind", positiveInteger, 20)
    .action(async (options: FingerprintsOptions) => runFingerprints(options, await createContext()));
};

/** A table has no space for more; JSON has more. */
const PROGRAMS = { table: 3, json: 20 } as const;
const MAX_SHOWN = 60;

/** `noisefloor fingerprints`: those of clients, with the programs that they were seen with. */
export function runFingerprints(options: FingerprintsOptions, context: CommandContext): Promise<void> {
  const { json, kind, limit } = options;
  return withStoreToRead(context, async (client) => {
    const since = readSince(options.since, Date.now());
    const programs = json ? PROGRAMS.json : PROGRAMS.table;
    const found: Fingerprint[] = [];
    for (const one of kind === undefined ? FINGERPRINT_KINDS : [kind]) {
      found.push(...(await readFingerprints(client, one, { since, limit, programs })));
    }
    show(json ? found.map(toJson) : found.map(toRow), options, context);
  });
}

function toRow({ kind, fingerprint, observations, addresses, lastSeen, programs, distinct }: Fingerprint) {
  const texts = programs.map(({ text, addresses: count }) => `${printable(text.slice(0, MAX_SHOWN))} (${count})`);
  const more = distinct > texts.length ? [`and ${distinct - texts.length} more`] : [];
  return {
    ...{ kind, fingerprint, addresses, observations },
    last_seen: new Date(lastSeen).toISOString().slice(0, 10),
    seen_with: [...texts, ...more].join(", ") || "-",
  };
}

function toJson({ firstSeen, lastSeen, distinct, programs, ...rest }: Fingerprint) {
  const times = { first_seen: new Date(firstSeen).toISOString(), last_seen: new Date(lastSeen).toISOString() };
  return { ...rest, ...times, seen_with: programs, seen_with_distinct: distinct };
}
