import { type CommandContext, UserError } from "./command.ts";

/**
 * Asks for confirmation of an effect that cannot be undone, or that locks out others.
 * @param effect what would happen, as a sentence without its full stop.
 * @param instead what confirms as `--yes` does, for a service, which has no such option.
 * @throws UserError unless the user confirms, with `--yes` or on the terminal.
 */
export async function confirm(
  effect: string,
  { yes, instead = "" }: { readonly yes: boolean; readonly instead?: string },
  { ask }: Pick<CommandContext, "ask">,
): Promise<void> {
  if (yes) return;
  if (ask === undefined) {
    const how = instead === "" ? "pass --yes" : `pass --yes or ${instead}`;
    throw new UserError(`${effect}. Nothing was changed: ${how} if that is intended`);
  }
  if (!(await ask(`${effect}. Continue?`))) throw new UserError("nothing was changed");
}
