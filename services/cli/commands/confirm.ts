import { type CommandContext, UserError } from "./command.ts";

/**
 * Asks before something that cannot be taken back, or that shuts others out.
 * @param effect what would happen, as a sentence without its full stop.
 * @throws UserError unless the user agrees, by `--yes` or on the terminal.
 */
export async function confirm(
  effect: string,
  { yes }: { readonly yes: boolean },
  { ask }: Pick<CommandContext, "ask">,
): Promise<void> {
  if (yes) return;
  if (ask === undefined) throw new UserError(`${effect}. Nothing was changed: pass --yes if that is meant`);
  if (!(await ask(`${effect}. Go on?`))) throw new UserError("nothing was changed");
}
