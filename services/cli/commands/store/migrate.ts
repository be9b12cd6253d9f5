import type { CommandContext } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import { openStore } from "../../store/prepare-store.ts";

export const define: DefineCommand = (migrate, createContext) => {
  migrate
    .option("--yes", "also when a shorter RETENTION_DAYS deletes more than a tenth of what is stored", false)
    .action(async (options: MigrateOptions) => runMigrate(options, await createContext()));
};

type MigrateOptions = { readonly yes: boolean } & Partial<OutputOptions>;

/** `noisefloor migrate`. */
export async function runMigrate(options: MigrateOptions, context: CommandContext): Promise<void> {
  const { settings, print } = context;
  const store = await openStore(context, undefined, {
    confirmLoss: (effect, days) =>
      confirm(
        effect,
        { yes: options.yes || settings.retentionConfirm === days, instead: `set RETENTION_CONFIRM=${days}` },
        context,
      ),
  });
  await store.close();
  const { migrations, tags, networks } = store.prepared;
  const { retentionDays } = store;
  if (options.json) print(JSON.stringify({ migrations, tags, lists: networks, retention_days: retentionDays }));
  else print("The schema is up to date.");
}
