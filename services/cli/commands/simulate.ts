import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { fileDeadLetter, type ReplayRecord } from "@noisefloor/ingest/sources/file/records.ts";
import { replay } from "@noisefloor/ingest/sources/file/replay.ts";
import { directSink } from "../direct-sink.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { simulate } from "../simulation.ts";
import { asCommand, closingAfter, openPreparedStore, type Store } from "../store.ts";
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
  const catalogue = await openTagCatalogue(client);
  try {
    const deadLetters = deadLetterStore(client, { now: Date.now });
    const summary = await replay(toRecords(simulate(days, Date.now())), {
      catalogue,
      retentionDays: () => retentionDays,
      right: "everything",
      now: Date.now,
      stop: signal,
      sink: directSink(client, { retryForMs: 30_000 }),
      storeDeadLetters: (rejected) => deadLetters(rejected.map(fileDeadLetter)),
    });
    printSummary(summary, "stored", print);
  } finally {
    catalogue.stop();
  }
}

/** `noisefloor simulate`. */
export async function runSimulate(days: number, context: CommandContext): Promise<void> {
  const store = await openPreparedStore(context.settings, asCommand(context));
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
