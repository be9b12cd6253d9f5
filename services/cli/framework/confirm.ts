import { type CommandContext, UserError } from "./command.ts";

/**
 * Asks before something that cannot be taken back, or that shuts others out.
 * @param effect what would happen, as a sentence without its full stop.
 * @param instead what agrees as `--yes` does, where nobody can pass it.
 * @throws UserError unless the user agrees, by `--yes` or on the terminal.
 */
export async function confirm(
  effect: string,
  { yes, instead = "" }: { readonly yes: boolean; readonly instead?: string },
  { ask }: Pick<CommandContext, "ask">,
): Promise<void> {
  if (yes) return;
  if (ask === undefined) {
    const how = instead === "" ? "pass --yes" : `pass --yes or ${instead}`;
    throw new UserError(`${effect}. Nothing was changed: ${how} if that is meant`);
  }
  if (!(await ask(`${effect}. Go on?`))) throw new UserError("nothing was changed");
}
