import { type Counter, isFields, JSON_COUNTERS } from "./counters.ts";
import { readRaw } from "./read-raw.ts";
import { createTally, type RawCounts } from "./tally.ts";

export type RawFile = {
  /** Whose records they are; undefined when no counter knows them. */
  readonly format: string | undefined;
  readonly counts: readonly RawCounts[];
  /** Why some of it is not expected in the store. */
  readonly reasons: readonly string[];
};

/** CSV by its header: the columns of the source, of the port and of the session. */
const CSV: readonly { name: string; header: RegExp; source: string; port: string; session?: string }[] = [
  { name: "marx", header: /^datetime,host,src,proto,type,spt,dpt/, source: "src", port: "dpt" },
  { name: "heralding", header: /^timestamp,.*source_ip/, source: "source_ip", port: "destination_port" },
];

/** Counts what a file's raw records say. Of its format the first record that is known decides. */
export async function countRaw(path: string, isOwn: (address: string) => boolean): Promise<RawFile> {
  let counter: Counter | undefined;
  let columns: ((line: string) => { source: string; port: string }) | undefined;
  let tally: ReturnType<typeof createTally> | undefined;
  for await (const record of readRaw(path)) {
    if (typeof record === "string") {
      if (tally === undefined) {
        const known = CSV.find(({ header }) => header.test(record));
        if (known === undefined) continue;
        const names = record.trim().split(",");
        const [source, port] = [names.indexOf(known.source), names.indexOf(known.port)];
        columns = (line) => {
          const cells = line.trim().split(",");
          return { source: cells[source] ?? "", port: cells[port] ?? "" };
        };
        counter = { name: known.name, says: ["sources", "ports"], recognizes: () => false, contact: () => undefined };
        tally = createTally(counter.says, isOwn);
      } else if (columns !== undefined) {
        const { source, port } = columns(record);
        tally.add({ source: /^\d+$/.test(source) ? dotted(Number(source)) : source, port });
      }
      continue;
    }
    if (!isFields(record)) continue;
    counter ??= JSON_COUNTERS.find(({ recognizes }) => recognizes(record));
    if (counter === undefined) continue;
    tally ??= createTally(counter.says, isOwn);
    const contact = counter.contact(record, isOwn);
    if (contact !== undefined) tally.add(contact);
  }
  return { format: counter?.name, counts: tally?.counts() ?? [], reasons: tally?.reasons() ?? [] };
}

const dotted = (number: number) => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
