import { readFile } from "node:fs/promises";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { findRange } from "@noisefloor/domain/address/ranges.ts";
import { MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import type { FactsSource, NetworkRanges } from "./facts.ts";
import { readText } from "./read-record.ts";

const COMMA = 0x2c;
const NEWLINE = 0x0a;
const ZERO = 0x30;
/** Some milliseconds of reading; the file of the whole Internet has 400,000 lines. */
const LINES_BEFORE_YIELD = 20_000;
/** The bytes of `0,0,0,` and its line feed: no file has more lines than its size divided by this. */
const SHORTEST_LINE = 7;

/**
 * Opens a CSV file of networks: `first,last,number,organisation` with addresses as numbers, ascending, an
 * organisation in double quotes where it contains a comma.
 * @throws Error when it is no such file.
 */
export async function openNetworkTable(name: string, path: string): Promise<FactsSource> {
  const table = await parseNetworkTable(await readFile(path));
  return {
    name,
    builtAt: undefined,
    ranges: table,
    lookUp(ip) {
      const index = findRange(table, ipv4ToNumber(ip));
      const asn = index === undefined ? 0 : (table.asn[index] ?? 0);
      if (asn === 0) return undefined;
      const organization = table.organizations.get(asn);
      return organization === undefined ? { asn } : { asn, organization };
    },
  };
}

/** The first `size` values of each column are set. */
type NetworkTable = { -readonly [Member in keyof NetworkRanges]: NetworkRanges[Member] } & {
  readonly organizations: Map<number, string>;
};

async function parseNetworkTable(bytes: Buffer): Promise<NetworkTable> {
  const maxLines = Math.ceil(bytes.length / SHORTEST_LINE);
  const column = () => new Uint32Array(maxLines);
  const table: NetworkTable = { size: 0, first: column(), last: column(), asn: column(), organizations: new Map() };
  for (let position = 0; position < bytes.length; await yieldToEventLoop())
    position = readLines(table, bytes, position);
  if (table.size === 0) throw new Error("it is empty");
  return trim(table);
}

/**
 * Reads some lines. By bytes and in one function: a text of each line, and its parts, would take ten times as long, and
 * a function for each number twice as long.
 * @returns the position after them.
 */
function readLines(table: NetworkTable, bytes: Buffer, from: number): number {
  const numbers = new Float64Array(3);
  let position = from;
  for (let lines = 0; lines < LINES_BEFORE_YIELD && position < bytes.length; lines++) {
    for (let column = 0; column < numbers.length; column++) {
      const start = position;
      let value = 0;
      for (let byte = bytes[position] ?? NEWLINE; byte !== COMMA; byte = bytes[++position] ?? NEWLINE) {
        if (byte < ZERO || byte > ZERO + 9) throw malformed(table.size);
        value = value * 10 + byte - ZERO;
      }
      if (position === start || value > 0xffffffff) throw malformed(table.size);
      numbers[column] = value;
      position++;
    }
    const first = numbers[0] ?? 0;
    const last = numbers[1] ?? 0;
    const asn = numbers[2] ?? 0;
    let end = position;
    while (end < bytes.length && bytes[end] !== NEWLINE) end++;
    if (!table.organizations.has(asn)) {
      const organization = readText(
        unquote(bytes.toString("utf8", position, end).trim()),
        MEMBERS.organization.maxLength,
      );
      if (organization !== undefined) table.organizations.set(asn, organization);
    }
    add(table, first, last, asn);
    position = end + 1;
  }
  return position;
}

function add(table: NetworkTable, first: number, last: number, asn: number): void {
  const before = table.size - 1;
  if (last < first || (before >= 0 && first <= (table.first[before] ?? 0))) throw malformed(table.size);
  // Published files have a few ranges that reach into the next one. The next one is the more precise.
  if (before >= 0 && first <= (table.last[before] ?? 0)) table.last[before] = first - 1;
  table.first[table.size] = first;
  table.last[table.size] = last;
  table.asn[table.size] = asn;
  table.size++;
}

const malformed = (lines: number) => new Error(`line ${lines + 1} is not an ascending range of addresses`);

const unquote = (text: string) =>
  text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text;

/** A copy without the part that no line filled. */
function trim({ size, first, last, asn, organizations }: NetworkTable): NetworkTable {
  return { size, first: first.slice(0, size), last: last.slice(0, size), asn: asn.slice(0, size), organizations };
}
