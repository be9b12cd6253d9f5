import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { countRaw, type RawFile } from "../../corpus/raw/count-raw.ts";
import { seeded } from "../builders/random.ts";
import { TPOT_FILES, type TpotFile, type TpotVisit } from "../builders/tpot-lines.ts";

export const TPOT_HOST = { name: "lively-otter", external: "198.51.100.7", internal: "10.0.0.5" } as const;

/** A visit that one observation is expected of. */
export type ExpectedVisit = TpotVisit & Pick<TpotFile, "honeypot" | "application" | "port" | "says">;

export type TpotFolder = {
  readonly visits: readonly ExpectedVisit[];
  /** All lines of the logs that are read, those about the honeypots themselves included. */
  readonly lines: number;
};

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * Makes a data folder of T-Pot: the logs of all its honeypots over some days, those of each day but the last rotated
 * and packed as T-Pot does, and files beside them that tell of no visitor.
 * @param until the end of the last day, in milliseconds since 1970 UTC.
 */
export async function arrangeTpotFolder(
  folder: string,
  { until, seed = 1, days = 7, visitsADay = 3 }: { until: number; seed?: number; days?: number; visitsADay?: number },
): Promise<TpotFolder> {
  const random = seeded(seed);
  const visits: ExpectedVisit[] = [];
  let lines = 0;
  for (const file of TPOT_FILES) {
    for (let age = 0; age < days; age++) {
      const dayEnd = Math.floor(until / MINUTE_MS) * MINUTE_MS - age * DAY_MS;
      const minutes = random.shuffle(Array.from({ length: 1_400 }, (_, minute) => minute + 1)).slice(0, visitsADay);
      const ofDay = minutes
        .toSorted((one, other) => other - one)
        .map((minute, index) => ({
          at: dayEnd - minute * MINUTE_MS,
          ip: `45.${random.int(80, 95)}.${random.int(0, 255)}.${random.int(1, 254)}`,
          port: 20_000 + age * 1_000 + index,
          id: `${random.int(1, 0xffff_ffff).toString(16).padStart(8, "0")}${String(visits.length + index).padStart(8, "0")}`,
        }));
      const { honeypot, application, port, says } = file;
      visits.push(...ofDay.map((visit) => ({ ...visit, honeypot, application, port, ...(says && { says }) })));
      const written = ofDay.flatMap((visit) => file.write(visit));
      lines += written.length;
      const text = `${written.join("\n")}\n`;
      if (age === 0) await write(folder, file.file, text, dayEnd);
      else await write(folder, `${file.file}.${age}.gz`, gzipSync(text), dayEnd);
    }
  }
  await writeHost(folder, TPOT_HOST);
  for (const [name, text] of OTHER_FILES) await write(folder, name, text, until);
  return { visits, lines };
}

/** What lies beside the logs and is none of them, though parts of it look so. */
const OTHER_FILES: readonly (readonly [name: string, text: string])[] = [
  ["uuid", "6f1e1c52-a0b3-4fd1-8a5c-0d7a3f5b9e11\n"],
  ["cowrie/log/cowrie-textlog.log", "2026-11-20T13:00:00+0000 [-] New connection: 45.95.0.1:4711\n"],
  ["cowrie/downloads/a1", '{"eventid":"cowrie.session.connect","src_ip":"45.95.0.1"}\n'],
  ["cowrie/downloads.tgz", "\u001f\u008b"],
  ["heralding/log/auth.csv", "timestamp,auth_id,session_id,source_ip,source_port\n2026-11-20,a,b,45.95.0.1,4711\n"],
  ["suricata/log/fast.log", "11/20/2026-13:00:00.0 [**] [1:1:1] x [**] {TCP} 45.95.0.1:1 -> 198.51.100.7:22\n"],
  ["elk/log/logstash-plain.log", '{"src_ip":"45.95.0.1"}\n'],
];

/** Real logs, which lie beside the project where its developers have them; undefined elsewhere. */
export function findRealLogs(): string | undefined {
  const folder = fileURLToPath(new URL("../../../../shared/data/observations", import.meta.url));
  return existsSync(folder) ? folder : undefined;
}

/** The real logs of one T-Pot, by honeypot: where they lie, and what they are called there. */
const REAL_LOGS = [
  { honeypot: "Cowrie", from: "cowrie", to: "cowrie/log/cowrie.json", growing: "cowrie.json.9.ndjson.gz" },
  { honeypot: "Suricata", from: "suricata-eve", to: "suricata/log/eve.json", growing: "eve.json.6.ndjson.gz" },
  { honeypot: "Heralding", from: "heralding", to: "heralding/log/log_session.json", growing: "sessions.ndjson.gz" },
] as const;
const REAL_HOST = { name: "sweetie", external: "167.172.104.173", internal: "172.23.0.2" };

/**
 * Makes a data folder of T-Pot of the real logs that {@link findRealLogs} finds.
 * @returns what the raw records of each honeypot say, counted without any decoder.
 */
export async function arrangeRealTpotFolder(folder: string, logs: string): Promise<Map<string, RawFile>> {
  const expected = new Map<string, RawFile>();
  const isOwn = (address: string) => address === REAL_HOST.external;
  for (const { honeypot, from, to, growing } of REAL_LOGS) {
    const names = (await readdir(join(logs, from))).toSorted();
    for (const name of names) {
      const source = join(logs, from, name);
      if (name === growing) await write(folder, to, gunzipSync(await readFile(source)), Date.now());
      else {
        const rotation = name.replace(/^\w+\.json\./, "").replace(".ndjson", "");
        await mkdir(dirname(join(folder, to)), { recursive: true });
        await copyFile(source, join(folder, `${to}.${rotation}`));
      }
    }
    const sources = names.map((name) => join(logs, from, name));
    expected.set(honeypot, await countRaw(sources, isOwn));
  }
  await writeHost(folder, REAL_HOST);
  return expected;
}

async function writeHost(folder: string, { name, external, internal }: Record<keyof typeof TPOT_HOST, string>) {
  const environment = `HONEY_UUID=6f1e\nMY_EXTIP=${external}\nMY_INTIP=${internal}\nMY_HOSTNAME=${name}\n`;
  await write(folder, "tpot/etc/compose/elk_environment", environment, Date.now());
  await write(folder, "ews/conf/ews.ip", `[MAIN]\nip = ${external}\n`, Date.now());
}

/** @param modifiedAt milliseconds since 1970 UTC. */
async function write(folder: string, name: string, content: string | Buffer, modifiedAt: number): Promise<void> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await utimes(path, modifiedAt / 1_000, modifiedAt / 1_000);
}
