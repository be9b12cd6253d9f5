import { openStore } from "../store.ts";
import type { CommandContext } from "./command.ts";
import { confirm } from "./confirm.ts";

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
