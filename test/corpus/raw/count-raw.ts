import { type Counter, isFields, JSON_COUNTERS } from "./counters.ts";
import { readRaw } from "./read-raw.ts";
import { createTally, type RawCounts, type Tally } from "./tally.ts";

export type RawFile = {
  /** Whose records they are; undefined when no counter knows them. */
  readonly format: string | undefined;
  readonly counts: readonly RawCounts[];
  /** Why some of it is not expected in the store. */
  readonly reasons: readonly string[];
};

/** CSV by its header: the columns of the source and of the port. */
const CSV = [
  { name: "marx", header: /^datetime,host,src,proto,type,spt,dpt/, source: "src", port: "dpt" },
  { name: "heralding", header: /^timestamp,.*source_ip/, source: "source_ip", port: "destination_port" },
];

/** Adds a record to the tally. */
type Add = (record: unknown, tally: Tally) => void;
type Reader = Pick<Counter, "name" | "says"> & { readonly add: Add };

/** Counts what the raw records of a log say, in one file or several. Of its format the first record that is known decides. */
export async function countRaw(
  paths: string | readonly string[],
  isOwn: (address: string) => boolean,
): Promise<RawFile> {
  let reader: Reader | undefined;
  let tally: Tally | undefined;
  for (const path of [paths].flat()) {
    for await (const record of readRaw(path)) {
      if (reader === undefined || tally === undefined) {
        reader = typeof record === "string" ? csvReader(record) : jsonReader(record, isOwn);
        tally = reader && createTally(reader.says, isOwn);
        if (typeof record === "string") continue;
      }
      if (reader !== undefined && tally !== undefined) reader.add(record, tally);
    }
  }
  return { format: reader?.name, counts: tally?.counts() ?? [], reasons: tally?.reasons() ?? [] };
}

function jsonReader(first: unknown, isOwn: (address: string) => boolean): Reader | undefined {
  const counter = JSON_COUNTERS.find(({ recognizes }) => recognizes(first));
  if (counter === undefined) return undefined;
  const add: Add = (record, tally) => {
    const contact = isFields(record) ? counter.contact(record, isOwn) : undefined;
    if (contact !== undefined) tally.add(contact);
  };
  return { ...counter, add };
}

function csvReader(line: string): Reader | undefined {
  const known = CSV.find(({ header }) => header.test(line));
  if (known === undefined) return undefined;
  const names = line.trim().split(",");
  const [source, port] = [names.indexOf(known.source), names.indexOf(known.port)];
  const add: Add = (record, tally) => {
    if (typeof record !== "string") return;
    const cells = record.trim().split(",");
    const address = cells[source] ?? "";
    tally.add({ source: /^\d+$/.test(address) ? dotted(Number(address)) : address, port: cells[port] });
  };
  return { name: known.name, says: ["sources", "ports"], add };
}

const dotted = (number: number) => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
