import { countDeadLettersBy, deleteDeadLetters } from "@noisefloor/clickhouse/dead-letters/dead-letter-selection.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import { type OutputOptions, show } from "../../framework/output.ts";
import { withStore, withStoreToRead } from "../../store/store.ts";
import { type FilterOptions, isFilteredBy, readFilter } from "./filter.ts";
import { countRow } from "./list-and-show.ts";

export type PurgeOptions = FilterOptions &
  OutputOptions & { readonly all: boolean; readonly dryRun: boolean; readonly yes: boolean };

/** `noisefloor dead-letters purge`. */
export async function runDeadLettersPurge(options: PurgeOptions, context: CommandContext): Promise<void> {
  const { print } = context;
  if (options.all === isFilteredBy(options)) {
    throw new UserError("say which dead letters to delete: by --reason, --origin, --before and so on, or --all");
  }
  const now = Date.now();
  const filter = readFilter(options, true, now);
  // What comes while the user is asked was not shown.
  const shown = { ...filter, before: filter.before ?? now + 1 };
  const open = options.dryRun ? withStoreToRead : withStore;
  await open(context, async (client) => {
    const counts = await countDeadLettersBy(client, shown);
    const count = counts.reduce((sum, one) => sum + one.count, 0);
    if (!options.json) show(counts.map(countRow), options, context);
    if (!options.dryRun && count > 0) {
      await confirm(`${count} dead letters would be deleted for good`, options, context);
      await deleteDeadLetters(client, shown);
    }
    if (options.json)
      return print(JSON.stringify({ deleted: options.dryRun ? 0 : count, counts: counts.map(countRow) }));
    print(
      options.dryRun
        ? `${count} dead letters would be deleted; nothing was changed.`
        : `Deleted ${count} dead letters.`,
    );
  });
}
