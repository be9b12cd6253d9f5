import { runDeadLettersList } from "@noisefloor/cli/commands/dead-letters/list-and-show.ts";
import { type RetryOptions, runDeadLettersRetry } from "@noisefloor/cli/commands/dead-letters/retry.ts";
import { z } from "zod";
import { commandOver } from "../worlds/commands.ts";
import type { World } from "../worlds/world.ts";

const listSchema = z.object({
  counts: z.array(z.object({ source: z.string(), reason: z.string(), state: z.string(), count: z.int() })),
  dead_letters: z.array(
    z.object({
      id: z.string(),
      source: z.string(),
      origin: z.string(),
      position: z.int(),
      state: z.string(),
      reason: z.string(),
      detail: z.string(),
      retried: z.string().nullable(),
      bytes: z.int(),
      kept_bytes: z.int(),
    }),
  ),
});

/** Runs `noisefloor dead-letters list --json` over a world. */
export async function listDeadLetters(
  world: Pick<World, "connection">,
  options: Partial<Parameters<typeof runDeadLettersList>[0]> = {},
) {
  const command = commandOver(world);
  await runDeadLettersList({ limit: 20, includeDone: false, json: true, ...options }, command);
  return listSchema.parse(JSON.parse(command.lines.join("")));
}

export const RETRY_DEFAULTS: RetryOptions = { all: false, dryRun: false, overridePermission: false, json: true };

const retrySchema = z.object({ stored: z.int(), rejected: z.int(), skipped: z.int(), already_done: z.int() });

/** The counts of a retry that found no dead letter. */
export const NOTHING_RETRIED = { stored: 0, rejected: 0, skipped: 0, already_done: 0 };

/** Runs `noisefloor dead-letters retry --json` over a world. */
export async function retryDeadLetters(
  world: Pick<World, "connection">,
  ids: readonly string[],
  options: Partial<RetryOptions> = {},
) {
  const command = commandOver(world);
  await runDeadLettersRetry(ids, { ...RETRY_DEFAULTS, ...options }, command);
  return retrySchema.parse(JSON.parse(command.lines.join("")));
}
