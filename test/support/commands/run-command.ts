import { commandOver, type RunCommand } from "../worlds/commands.ts";
import type { World } from "../worlds/world.ts";

/**
 * Runs a command over a world, in whose answers its changes then show.
 * @returns what it printed, and the message of its error; empty when it succeeded.
 */
export async function runCommand(
  world: Pick<World, "connection"> & Partial<Pick<World, "refresh">>,
  work: (command: RunCommand) => Promise<void>,
) {
  const command = commandOver(world);
  let failure = "";
  try {
    await work(command);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  await world.refresh?.();
  return { output: command.lines.join("\n"), failure };
}
