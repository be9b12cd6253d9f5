import type { CommandContext } from "../framework/command.ts";
import { confirm } from "../framework/confirm.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { openStore } from "../store.ts";

export const define: DefineCommand = (migrate, createContext) => {
  migrate
    .option("--yes", "also when a shorter RETENTION_DAYS deletes more than a tenth of what is stored", false)
    .action(async (options: { yes: boolean }) => runMigrate(options, await createContext()));
};

/** `noisefloor migrate`. */
export async function runMigrate(options: { readonly yes: boolean }, context: CommandContext): Promise<void> {
  const { settings, print } = context;
  const store = await openStore(context, undefined, (effect, days) =>
    confirm(
      effect,
      { yes: options.yes || settings.retentionConfirm === days, instead: `set RETENTION_CONFIRM=${days}` },
      context,
    ),
  );
  await store.close();
  print("The schema is up to date.");
}
