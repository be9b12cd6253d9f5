import { isDeepStrictEqual } from "node:util";
import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { readStoreTime } from "@noisefloor/clickhouse/watches/log.ts";
import { type Destination, type Watch, watchIdOfFile } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import { type DefinitionRules, goesOn, toDefinition, WrongWatchError } from "./routes/definition.ts";

/** The watches of one workspace, each as the API takes it. */
const fileSchema = z.object({
  workspace: z.string().default("default"),
  watches: z.array(
    z.looseObject({ name: z.string().min(1), deliver: z.array(z.looseObject({ type: z.string() })).default([]) }),
  ),
});
export type WatchesFile = z.output<typeof fileSchema>;

export type FileRules = DefinitionRules & {
  readonly client: ClickHouseClient;
  readonly cache: WatchCache;
  readonly accessCache: Pick<AccessCache, "callerOfWorkspace">;
};

/** How many watches of a file are new, changed, removed or as they were. */
export type FileChanges = Readonly<Record<"made" | "changed" | "removed" | "same", number>>;

/** @param content of the file, parsed. @throws WrongWatchError */
export function readWatchesFile(content: unknown): WatchesFile {
  const read = fileSchema.safeParse(content);
  if (read.success) return read.data;
  const where = read.error.issues[0]?.path.join(".") || "the file";
  throw new WrongWatchError(`${where} is wrong: a file has "watches", a list of which each has a "name"`);
}

/**
 * Makes the watches of a file those that there are, beside those made by API. A watch is known by its name: to read the
 * same file again changes nothing.
 * @throws WrongWatchError that names the watch, before anything was changed.
 */
export async function applyWatchesFile(
  { workspace, watches }: WatchesFile,
  fileRules: FileRules,
): Promise<FileChanges> {
  const { client, cache, accessCache } = fileRules;
  if (accessCache.callerOfWorkspace(workspace) === undefined) {
    throw new WrongWatchError(`workspace: there is no workspace "${workspace}"`);
  }
  await cache.refresh();
  const gone = new Map(cache.all().flatMap((watch) => (watch.origin === "file" ? [[watch.id, watch] as const] : [])));
  const now = await readStoreTime(client);
  const rules = { ...fileRules, now: () => now };
  const written: Omit<Watch, "updatedAt">[] = [];
  const ids = new Set<string>();
  let [made, same] = [0, 0];
  for (const sent of watches) {
    const id = watchIdOfFile(workspace, sent.name);
    if (ids.has(id)) throw new WrongWatchError(`"${sent.name}": two watches have this name`);
    ids.add(id);
    const known = gone.get(id);
    gone.delete(id);
    const definition = definitionOf(sent, known?.deliver ?? [], rules);
    const isSame = known !== undefined && goesOn(known, definition);
    const watch = {
      ...{ id, workspaceId: workspace, origin: "file" as const, ...definition },
      ...{ sinceAt: isSame ? known.sinceAt : now, createdAt: known?.createdAt ?? now },
    };
    if (known === undefined) made++;
    if (known !== undefined && isDeepStrictEqual({ ...watch, updatedAt: known.updatedAt }, { ...known })) same++;
    else written.push(watch);
  }
  if (written.length > 0) await watchDefinitions.write(client, written, now);
  if (gone.size > 0) await watchDefinitions.delete(client, [...gone.values()], now);
  await cache.refresh();
  return { made, changed: written.length - made, removed: gone.size, same };
}

type SentWatch = WatchesFile["watches"][number];

/** A destination is known by where it is. */
function definitionOf(sent: SentWatch, before: readonly Destination[], rules: DefinitionRules) {
  const target = (destination: object) => {
    const of = (name: string) => (name in destination ? Reflect.get(destination, name) : undefined);
    return JSON.stringify(["type", "url", "to", "host", "port"].map(of));
  };
  const deliver = sent.deliver.map((each) => {
    if (each.type === "webhook" && each.secret === undefined) {
      throw new WrongWatchError(`"${sent.name}": webhook takes secret: nobody would see one that is made here`);
    }
    const known = before.find((destination) => target(destination) === target(each));
    return { ...each, ...(known && { id: known.id }) };
  });
  try {
    return toDefinition({ ...sent, deliver }, before, rules);
  } catch (error) {
    throw error instanceof WrongWatchError ? new WrongWatchError(`"${sent.name}": ${error.message}`) : error;
  }
}
