import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { formatDate } from "@noisefloor/domain/time/window.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import { readInput } from "../../framework/input.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { withStore, withStoreToRead } from "../../store/store.ts";
import { importTags, readTagsInUse } from "../../tags/import-tags.ts";
import { readTagsOfFiles } from "../../tags/starter-tags.ts";
import { readTagFile } from "../../tags/tag-file.ts";

/** `noisefloor tags import`. */
export async function runTagsImport(
  file: string,
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  const { print } = context;
  const { tags, rejected } = await readTagsFrom(file, context);
  await withStore(context, async (client) => {
    const { starter } = await readTagsOfFiles(context.settings, Date.now());
    const result = await importTags(client, tags, Date.now(), starter);
    const all = [...rejected, ...result.rejected];
    if (json) {
      const { added, changed, replaced, unchanged } = result;
      print(JSON.stringify({ added, changed, replaced, unchanged, rejected: all }));
    } else printImport(result, all, print);
    if (all.length === rejected.length + tags.length) {
      throw new UserError(`${file}: ${all.length === 0 ? "it holds no tag" : "every tag was rejected"}`);
    }
  });
}

type ImportResult = Awaited<ReturnType<typeof importTags>>;

function printImport(
  { added, changed, replaced, unchanged }: ImportResult,
  rejected: ImportResult["rejected"],
  print: CommandContext["print"],
): void {
  for (const { entry, reason } of rejected) print(`rejected ${printable(entry)}: ${reason}`);
  for (const slug of replaced) print(`replaced ${slug}: it was a tag of the starter catalogue`);
  print(`added     ${added}`);
  print(`changed   ${changed}`);
  print(`replaced  ${replaced.length}`);
  print(`unchanged ${unchanged}`);
  print(`rejected  ${rejected.length}`);
}

async function readTagsFrom(file: string, context: CommandContext) {
  try {
    return readTagFile(await readInput(file, context), formatDate(Date.now()));
  } catch (error) {
    throw new UserError(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** `noisefloor tags list`. */
export function runTagsList(options: OutputOptions, context: CommandContext): Promise<void> {
  return withStoreToRead(context, async (client) => {
    const { starter, own } = await readTagsOfFiles(context.settings, Date.now());
    const starterIds = new Set(starter.map(({ id }) => id));
    const ownIds = new Set(own.map(({ id }) => id));
    const rows = (await tagRecords.read(client)).map(({ slug, id, name, intention, category }) => ({
      slug,
      id,
      intention,
      category,
      from: ownIds.has(id) ? "rules" : starterIds.has(id) ? "starter" : "import",
      name,
    }));
    show(rows, options, context);
  });
}

/** `noisefloor tags remove`. @param references slugs or ids. */
export function runTagsRemove(
  references: readonly string[],
  options: { readonly yes: boolean; readonly json?: boolean },
  context: CommandContext,
): Promise<void> {
  return withStore(context, async (client) => {
    const tags = await tagRecords.read(client);
    const tagsToRemove = references.map((reference) => {
      const tag = tags.find(({ slug, id }) => slug === reference || id === reference.toLowerCase());
      if (tag === undefined)
        throw new UserError(`there is no tag "${printable(reference)}": see "noisefloor tags list"`);
      return tag;
    });
    await assertNotOfFiles(tagsToRemove, context);
    const ids = tagsToRemove.map(({ id }) => id);
    const inUse = await readTagsInUse(client, ids);
    const carried = tagsToRemove.filter(({ id }) => inUse.has(id)).map(({ slug }) => slug);
    if (carried.length > 0) {
      await confirm(`Observations carry ${carried.join(", ")}: answers about them would lose it`, options, context);
    }
    await tagRecords.delete(client, tagsToRemove, Date.now());
    const removed = [...new Set(tagsToRemove)].map(({ slug }) => slug);
    context.print(options.json ? JSON.stringify({ removed }) : `removed   ${removed.length}`);
  });
}

/** Throws a UserError when every start would add one of the tags again. */
async function assertNotOfFiles(tags: readonly Tag[], { settings }: CommandContext): Promise<void> {
  const { starter, own } = await readTagsOfFiles(settings, Date.now());
  const slugsIn = (list: readonly Tag[]) =>
    tags.filter(({ id }) => list.some((tag) => tag.id === id)).map(({ slug }) => slug);
  const ofOwn = slugsIn(own);
  if (ofOwn.length > 0) {
    throw new UserError(`remove the files of these tags from TAG_RULES_DIR first: ${ofOwn.join(", ")}`);
  }
  const ofStarter = slugsIn(starter);
  if (ofStarter.length === 0) return;
  throw new UserError(
    `tags of the starter catalogue cannot be removed, as every start adds them: ${ofStarter.join(", ")}. Import tags in their place`,
  );
}
