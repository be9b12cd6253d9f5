import { holdStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { connectStore, serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { parseObservedAt } from "@noisefloor/domain/observation/schema.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { createCloseStack } from "../framework/close-stack.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import type { OutputOptions } from "../framework/output.ts";
import { positiveInteger } from "../framework/positive-integer.ts";
import { fractionBar, progressBar } from "../framework/progress.ts";
import { SENSOR_PREFIX, SENSORS } from "../simulation/fleet.ts";
import { openInternet } from "../simulation/open.ts";
import { type SendSummary, sendAll, sendLive } from "../simulation/send.ts";
import { type SimulatedInternet, simulate } from "../simulation/simulate.ts";
import { httpTarget } from "../simulation/targets/http.ts";
import { kafkaTarget } from "../simulation/targets/kafka.ts";
import { storeTarget } from "../simulation/targets/store.ts";
import type { SimulationTarget } from "../simulation/targets/target.ts";
import { asCommand, closingAfter, openPreparedStore, type Store } from "../store/store.ts";

export const define: DefineCommand = (simulate, createContext) => {
  simulate
    .option("--days <n>", "how many days back (default: 30, none with --rate)", positiveInteger)
    .option("--per-day <n>", "observations a day of these, on average", positiveInteger, DEFAULTS.perDay)
    .option("--until <time>", "their end, an RFC 3339 time (default: now)")
    .option(
      "--rate <n>",
      "observations per second from now on, until Ctrl-C; with --days, after these",
      positiveInteger,
    )
    .option("--seed <n>", "a whole number: the same one gives the same observations", positiveInteger, DEFAULTS.seed)
    .option("--sources <n>", "how many scanners come again at any time", positiveInteger, DEFAULTS.sources)
    .option("--to <place>", 'where they go: "store", "kafka", or the URL of an intake', "store")
    .option("--key <key>", "the sensor key for an intake that wants one")
    .option("--remove", "delete everything simulated that is stored, and simulate nothing", false)
    .action(async (options: SimulateOptions) => runSimulate(options, await createContext()));
};

export const DEFAULTS = { days: 30, perDay: 8_000, seed: 1, sources: 8_000, to: "store", remove: false } as const;

export type SimulateOptions = Partial<OutputOptions> & {
  readonly days?: number | undefined;
  readonly perDay: number;
  /** An RFC 3339 time. */
  readonly until?: string | undefined;
  /** Observations per second from now on. */
  readonly rate?: number | undefined;
  readonly seed: number;
  readonly sources: number;
  /** `store`, `kafka` or a URL. */
  readonly to: string;
  readonly key?: string | undefined;
  readonly remove: boolean;
};

/** `noisefloor simulate`: the observations of a simulated sensor fleet. */
export async function runSimulate(options: SimulateOptions, context: CommandContext): Promise<void> {
  const { settings, signal } = context;
  if (options.remove) return remove(options, context);
  const now = Date.now();
  const until = readUntil(options.until, now);
  const { rate } = options;
  const live = rate === undefined ? undefined : { from: undefined, perDay: rate * (DAY_MS / 1_000) };
  const work = (open: OpenTarget) => run(open, { ...options, until, live }, context);
  if (options.to !== "store") return work(remoteTarget(options, context));
  const store = await openPreparedStore(settings, asCommand(context, signal));
  await closingAfter(store, async () => {
    assertKept("--days", options.days ?? DEFAULTS.days, now - until, store.retentionDays);
    await work(() => storeTarget(context, store));
  });
}

async function remove({ json }: Partial<OutputOptions>, context: CommandContext): Promise<void> {
  const { settings, signal, print } = context;
  const store = await openPreparedStore(settings, asCommand(context, signal));
  await closingAfter(store, async () => {
    const release = await holdStoreLock(serverOf(store.server.connection), "restore");
    const bar = fractionBar("Making rollups", settings.logLevel !== "silent");
    const client = connectStore(store.server.connection, "noisefloor-simulate", LONG_REQUEST_MS);
    try {
      const removed = await removeObservations(
        client,
        { sensorPrefix: SENSOR_PREFIX },
        { signal, onProgress: bar.show },
      );
      bar.end();
      const { observations, isComplete } = removed;
      if (!isComplete) process.exitCode = 130;
      if (json) return print(JSON.stringify({ is_complete: isComplete, deleted: observations }));
      print(`deleted   ${observations} observations of sensors named ${SENSOR_PREFIX}...`);
      if (isComplete) return;
      print("Stopped before the end: answers still count them. The same command again does what is left.");
    } finally {
      bar.end();
      await client.close();
      await release();
    }
  });
}

/**
 * Stores `days` of a simulated sensor fleet, with the defaults of the command.
 * @returns stores what it observes from then on, when it does, until the signal.
 */
export async function simulateInto(
  store: Store,
  days: number,
  context: CommandContext,
): Promise<(signal: AbortSignal) => Promise<void>> {
  const now = Date.now();
  assertKept("--demo", days, 0, store.retentionDays);
  const open = () => storeTarget(context, store);
  await run(open, { ...DEFAULTS, days, until: now }, context);
  const live = { from: now, perDay: DEFAULTS.perDay };
  return (signal) => run(open, { ...DEFAULTS, days: 0, until: now, live }, { ...context, signal, print: () => {} });
}

/** Opens where the observations go. */
type OpenTarget = () => Promise<SimulationTarget>;

function remoteTarget({ to, key }: SimulateOptions, context: CommandContext): OpenTarget {
  if (to === "kafka") return () => kafkaTarget(context);
  if (/^https?:\/\/./.test(to)) return async () => httpTarget({ base: to, key });
  throw new UserError(`--to takes "store", "kafka" or a URL like http://localhost:8080, not "${to}"`);
}

function readUntil(text: string | undefined, now: number): number {
  if (text === undefined) return now;
  const time = parseObservedAt(text);
  if (time === undefined) throw new UserError(`--until takes a time like 2026-11-20T14:00:00Z, not "${text}"`);
  if (time > now) throw new UserError(`--until ${text} is in the future`);
  return time;
}

/** @param ageMs how old the newest of them will be. @throws UserError when the retention would delete some of them. */
export function assertKept(option: string, days: number, ageMs: number, retentionDays: number): void {
  if (days * DAY_MS + ageMs <= retentionDays * DAY_MS) return;
  throw new UserError(`only ${retentionDays} days are kept, and ${option} ${days} goes further back`);
}

type Live = {
  /** Milliseconds since 1970 UTC; undefined: now. */
  readonly from: number | undefined;
  readonly perDay: number;
};
type RunOptions = Omit<SimulateOptions, "until" | "remove" | "to" | "rate"> & {
  readonly until: number;
  readonly live?: Live | undefined;
};

async function run(open: OpenTarget, options: RunOptions, context: CommandContext): Promise<void> {
  const { seed, sources, until, json = false } = options;
  const { settings, log, signal } = context;
  // As JSON, the summary is all that is printed.
  const talking: Talking = { settings, signal, print: json ? () => {} : context.print };
  const closeStack = createCloseStack();
  try {
    const enricher = await openEnricher({ mmdbPaths: settings.mmdbPaths, log });
    closeStack.add(enricher.stop);
    const internet = await openInternet({ seed, sources, databases: enricher });
    const target = await open();
    closeStack.add(target.close);
    const days = options.days ?? (options.live === undefined ? DEFAULTS.days : 0);
    let filled: RunSummary | undefined;
    if (days > 0) {
      talking.print(
        `Simulating ${days === 1 ? "a day" : `${days} days`} of a fleet of ${SENSORS.length} sensors, named ${SENSOR_PREFIX}..., with the seed ${seed} ...`,
      );
      filled = await backFill(internet, target, { days, until, perDay: options.perDay }, talking);
    }
    const isFilled = !signal.aborted;
    const sent = options.live && isFilled ? await live(internet, target, options.live, talking) : undefined;
    if (!json) return;
    const summaries = { back_fill: filled ? toJson(filled) : null, live: sent ? toJson(sent) : null };
    context.print(JSON.stringify({ is_complete: isFilled, ...summaries }));
  } finally {
    await closeStack.closeAll();
  }
}

type Talking = Pick<CommandContext, "settings" | "signal" | "print">;
type BackFill = { readonly days: number; readonly until: number; readonly perDay: number };

async function backFill(
  internet: SimulatedInternet,
  target: SimulationTarget,
  { days, until, perDay }: BackFill,
  { settings, signal, print }: Talking,
): Promise<RunSummary> {
  const from = until - days * DAY_MS;
  const startedAt = Date.now();
  const progress = progressBar("Simulating", until - from, settings.logLevel !== "silent");
  let shown = from;
  try {
    const summary = await sendAll(simulate(internet, { from, to: until, perDay }), {
      target,
      signal,
      onProgress(time, sent) {
        progress.advance(Math.max(0, time - shown));
        shown = Math.max(shown, time);
        progress.note(`${sent} ${target.verb}`);
      },
    });
    progress.end();
    if (signal.aborted) {
      print("Stopped before the end. The same command counts nothing twice,");
      print(`and stores the rest with --until ${new Date(until).toISOString()}.`);
      process.exitCode = 130;
    }
    const done = { ...summary, verb: target.verb, startedAt, endedAt: Date.now() };
    printSummary(done, print);
    return done;
  } finally {
    progress.end();
  }
}

async function live(
  internet: SimulatedInternet,
  target: SimulationTarget,
  { from, perDay }: Live,
  { signal, print }: Talking,
): Promise<RunSummary> {
  const startedAt = Date.now();
  print(`Simulating ${perDay / (DAY_MS / 1_000)} observations per second from now on; Ctrl-C stops it.`);
  const span = { from: from ?? startedAt, to: Number.POSITIVE_INFINITY, perDay };
  const summary = await sendLive(simulate(internet, span), { target, signal, now: Date.now });
  const done = { ...summary, verb: target.verb, startedAt, endedAt: Date.now() };
  printSummary(done, print);
  return done;
}

type RunSummary = Readonly<SendSummary> & {
  /** What the target did with them. */
  readonly verb: string;
  /** Milliseconds since 1970 UTC. */
  readonly startedAt: number;
  readonly endedAt: number;
};

const secondsOf = ({ startedAt, endedAt }: RunSummary) => Math.max(0.001, (endedAt - startedAt) / 1_000);

function toJson(summary: RunSummary) {
  const { made, accepted } = summary;
  return { simulated: made, accepted, left_out: made - accepted, seconds: secondsOf(summary) };
}

function printSummary(summary: RunSummary, print: (line: string) => void): void {
  const { made, accepted, verb } = summary;
  const seconds = secondsOf(summary);
  print(`simulated ${made}`);
  print(`${verb.padEnd(9)} ${accepted}`);
  if (accepted < made) print(`left out  ${made - accepted}`);
  print(`seconds   ${seconds.toFixed(1)} (${Math.round(made / seconds)} observations/s)`);
}
