import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { type OpenTagger, openTagger } from "@noisefloor/ingest/tagging/open-tagger.ts";
import type { CommandContext } from "../framework/command.ts";
import { addTags, ruleFolders, tagsOfFiles } from "./starter-tags.ts";

/**
 * Opens the tagging rules of Noisefloor and of TAG_RULES_DIR.
 * @param options `addTags`: whether their tags enter the catalogue, also those of files that appear later.
 * @throws TagRulesError when a file has an error.
 */
export function openRuleTagger(
  { settings, log }: Pick<CommandContext, "settings" | "log">,
  client: ClickHouseClient,
  catalogue: TagCatalogue,
  options: { readonly addTags: boolean } = { addTags: true },
): Promise<OpenTagger> {
  return openTagger({
    folders: ruleFolders(settings),
    async onTags(tagsByFolder) {
      if (!options.addTags) return;
      const now = Date.now();
      const added = await addTags(client, tagsOfFiles(tagsByFolder, now), now);
      if (added > 0) await catalogue.refresh();
    },
    log,
  });
}
