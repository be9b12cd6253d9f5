import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { readSensorFormats } from "@noisefloor/cli/formats.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { readSettings } from "@noisefloor/config/settings.ts";
import { compare } from "./compare.ts";
import { HELP, listFiles, readCorpusOptions } from "./options.ts";
import { countRaw } from "./raw/count-raw.ts";
import { replayFile } from "./replay-file.ts";

const { paths, format, help } = readOptions();
if (help) {
  console.log(HELP);
  process.exit(0);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const env = Object.fromEntries(
  ["OWN_ADDRESSES", "PORT_REWRITES", "FIELD_MAPS"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
const { decode } = readSensorFormats(readSettings(env));
const folder = await mkdtemp(join(tmpdir(), "noisefloor-corpus-"));
const server = await startEmbedded(folder);
const silent: string[] = [];
/** All addresses and those that were proven to be in contact, by the format of their files. */
const contact = new Map<string, { readonly all: Set<number>; readonly proven: Set<number> }>();
try {
  const files = await listFiles(paths);
  for (const [index, path] of files.entries()) {
    const name = `${basename(dirname(path))}/${basename(path)}`;
    const mebibytes = ((await stat(path)).size / 1_048_576).toFixed(1);
    console.error(`${index + 1} of ${files.length}: ${path} (${mebibytes} MiB)`);
    const replayed = await replayFile(path, format, server.connection, env);
    const raw = await countRaw(path, decode.isOwnAddress);
    const { row, silent: found } = compare(name, raw, replayed);
    const { all, proven } = contact.get(raw.format ?? "?") ?? { all: new Set(), proven: new Set() };
    for (const address of replayed.stored.addresses) all.add(address);
    for (const address of replayed.stored.proven) proven.add(address);
    contact.set(raw.format ?? "?", { all, proven });
    for (const [column, value] of Object.entries(row)) if (value !== "") console.log(`${column.padEnd(10)} ${value}`);
    for (const difference of found) console.log(`DIFFERENT  ${difference}`);
    console.log();
    silent.push(...found.map((difference) => `${name}: ${difference}`));
  }
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
for (const [name, { all, proven }] of contact) {
  console.log(`${name}: ${all.size - proven.size} of ${all.size} addresses could be forged`);
}
console.log(
  silent.length === 0 ? "Nothing is different without a word." : `Different without a word:\n  ${silent.join("\n  ")}`,
);
process.exit(silent.length === 0 ? 0 : 1);

function readOptions() {
  try {
    return readCorpusOptions(process.argv.slice(2), process.env.CORPUS);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}
