import { watchTags } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { deadLettersInto } from "@noisefloor/ingest/dead-letter.ts";
import { insertQueue } from "@noisefloor/ingest/insert-queue.ts";
import { acceptInto } from "@noisefloor/ingest/pipeline.ts";
import { replay } from "@noisefloor/ingest/replay.ts";
import type { ReplayRecord } from "@noisefloor/ingest/sources/file.ts";
import { insertInto } from "@noisefloor/ingest/writer.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { simulate } from "../simulation.ts";
import { closingAfter, openStore, type Store } from "../store.ts";
import { printSummary } from "./replay.ts";

export const define: DefineCommand = (simulate, createContext) => {
  simulate
    .option("--days <n>", "how many days back", positiveInteger, 30)
    .action(async (options: { days: number }) => runSimulate(options.days, await createContext()));
};

/** Stores the observations of a simulated sensor fleet, through the pipeline that all observations take. */
export async function simulateInto(
  { client, retentionDays }: Store,
  days: number,
  context: CommandContext,
): Promise<void> {
  const { signal, print } = context;
  if (days > retentionDays)
    throw new UserError(`only ${retentionDays} days are kept: --days takes 1 to ${retentionDays}`);
  print(
    `Simulating ${days === 1 ? "a day" : `${days} days`} of a sensor fleet (sensors named simulated-01 to simulated-12) ...`,
  );
  const catalogue = await watchTags(client);
  try {
    const queue = insertQueue({ insert: insertInto(client), retryForMs: 30_000, lingerMs: 0 });
    const summary = await replay(toRecords(simulate(days, Date.now())), {
      catalogue,
      retentionDays: () => retentionDays,
      right: "everything",
      now: Date.now,
      stop: signal,
      accept: acceptInto(queue),
      keepDeadLetters: deadLettersInto(client, "file", Date.now),
    });
    printSummary(summary, "stored", print);
  } finally {
    catalogue.stop();
  }
}

/** `noisefloor simulate`. */
export async function runSimulate(days: number, context: CommandContext): Promise<void> {
  const store = await openStore(context, "lengthen");
  await closingAfter(store, async () => {
    await simulateInto(store, days, context);
  });
}

async function* toRecords(observations: Iterable<Record<string, unknown>>): AsyncGenerator<ReplayRecord> {
  let position = 0;
  for (const value of observations) {
    position++;
    yield { value, bytes: Buffer.from(JSON.stringify(value)), origin: "simulation", position, fallbackId: "" };
  }
}
