import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writePrivately } from "@noisefloor/clickhouse/embedded/private-file.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { createFirstWorkspace } from "../../access/first-workspace.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { shellQuote } from "../../framework/output.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import { runServices } from "../../process/run-services.ts";
import type { RunningService } from "../../process/serve.ts";
import type { Store } from "../../store/store.ts";
import { assertKept, DEFAULTS, simulateInto } from "../simulate.ts";

const DEMO_DAYS = 30;

export const define: DefineCommand = (start, createContext) => {
  start
    .option(
      "--demo [days]",
      "also simulate 30 days of a sensor fleet, or as many as you say, and go on slowly",
      positiveInteger,
    )
    .action(async (options: StartOptions) => runStart(options, await createContext()));
};

/** `demo` is true without a number of days. */
type StartOptions = { readonly demo?: true | number };

/** `noisefloor start`: intake and queries in one process, which prints how to try them. */
async function runStart({ demo }: StartOptions, context: CommandContext): Promise<void> {
  const days = demo === true ? DEMO_DAYS : demo;
  const onReady = async (service: RunningService, store: Store) => {
    // Only once the services listen: if the start fails, the user never sees the key.
    const first = await createFirstKey(store, context);
    // A failure is logged, and the next poll reads the key: a store that is busy with followed files ends no first start.
    if (first !== undefined) await service.refreshKeys().catch(() => {});
    printWelcome(service, store, first, context, days);
    if (days === undefined) return undefined;
    const goOn = await simulateInto(store, days, context);
    if (!context.signal.aborted) {
      context.print();
      context.print(`The demo is ready: ${service.url}/`);
      context.print(`${DEFAULTS.perDay} observations a day go on arriving until Ctrl-C.`);
    }
    return goOn;
  };
  await runServices({ ingest: true, query: true }, context, onReady, (kept) => {
    if (days !== undefined) assertKept("--demo", days, 0, kept);
  });
}

/** The key that a first start creates: printed on a terminal, else written to a file, as the output may be logged. */
type FirstKey = { readonly key: string; readonly file: string | undefined };

async function createFirstKey(
  { client }: Store,
  { settings, isTerminal }: CommandContext,
): Promise<FirstKey | undefined> {
  let first: FirstKey | undefined;
  await createFirstWorkspace(client, Date.now(), async ({ id, secret: key }) => {
    const folder = resolve(settings.clickhouse.dataDir);
    const file = isTerminal ? undefined : join(folder, `first-key-${id}`);
    if (file !== undefined) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writePrivately(file, `${key}\n`);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new UserError(`cannot write the first key to the data directory ${folder}: ${reason}`);
      }
    }
    first = { key, file };
  });
  return first;
}

function printWelcome(
  service: RunningService,
  store: Store,
  first: FirstKey | undefined,
  { settings, print }: CommandContext,
  demoDays: number | undefined,
): void {
  print("Noisefloor: self-hosted Internet scan-noise intelligence");
  print();
  for (const line of formatSetup(service, store, settings)) print(line);
  print();
  print("Try:");
  for (const line of formatExamples(service, first)) print(`  ${line}`);
  print();
  const belongs = "It belongs to the workspace default, which may see everything.";
  if (first?.file !== undefined) print(`The first key is in ${first.file}, and nowhere else. ${belongs}`);
  else if (first !== undefined) print(`The key is shown this once. ${belongs}`);
  print("Another key: ./noisefloor keys create default");
  if (demoDays === undefined)
    print("Something to look at: npm start -- --demo, or ./noisefloor simulate while this runs.");
  print("Ctrl-C stops it.");
}

function formatSetup(
  { url, httpsUrl, intakeUrl }: RunningService,
  store: Store,
  { clickhouse, kafka }: Settings,
): string[] {
  const owner = store.server.origin === "running" ? "of another process" : "embedded";
  const brokers = kafka?.connection.brokers.join(", ");
  return [
    `  Explorer        ${url}/`,
    `  Documentation   ${url}/docs`,
    `  API and intake  ${url}${httpsUrl === undefined ? "" : ` and ${httpsUrl}`}`,
    ...(intakeUrl === undefined ? [] : [`  Intake alone    ${intakeUrl}`]),
    `  ClickHouse      ${clickhouse.server?.url ?? `${owner}, data in ${resolve(clickhouse.dataDir)}`}`,
    `  Kafka           ${brokers ?? "not configured: observations come over HTTP and from files"}`,
    `  Retention       ${store.retentionDays} days`,
  ];
}

function formatExamples({ url, isIntakeOpen }: RunningService, first: FirstKey | undefined): string[] {
  const key = first?.file === undefined ? first?.key : `$(cat ${shellQuote(first.file)})`;
  const withKey = key === undefined ? "" : `-H "key: ${key}" `;
  const withSensorKey = isIntakeOpen() ? "" : '-H "key: $SENSOR_KEY" ';
  return [
    `curl ${withKey}"${url}/v3/tags?name=ssh"`,
    `curl ${withSensorKey}-X POST ${url}/v1/observations -d '{"observed_at":"'$(date -u +%FT%TZ)'","sensor_id":"my-sensor","source_ip":"192.175.48.6","destination_port":22,"transport":"tcp","tags":["ssh-scanner"]}'`,
    `curl ${withKey}${url}/v3/community/192.175.48.6`,
  ];
}
