import { describeCondition } from "@noisefloor/domain/watches/describe-condition.ts";
import { conditionSchema } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { type QueryClientOptions, queryClient } from "../../query-client/client.ts";
import { conditionOf, type DefinitionOptions, destinationsOf, KINDS } from "./definition.ts";

export type WatchesOptions = QueryClientOptions & OutputOptions;
export type AddOptions = WatchesOptions & DefinitionOptions & { readonly disabled: boolean };
export type ChangeOptions = WatchesOptions &
  DefinitionOptions & {
    readonly name?: string;
    readonly removeDestination?: readonly string[];
  };
export type DeleteOptions = WatchesOptions & { readonly yes: boolean };

const destinationSchema = z.looseObject({
  id: z.string(),
  off: z.boolean(),
  type: z.string(),
  url: z.string().optional(),
  format: z.string().optional(),
  secret: z.string().optional(),
  to: z.array(z.string()).optional(),
  host: z.string().optional(),
  port: z.int().optional(),
  transport: z.string().optional(),
});
const watchSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  on: conditionSchema,
  repeat_after_hours: z.int(),
  enabled: z.boolean(),
  deliver: z.array(destinationSchema),
  origin: z.string(),
  since: z.string(),
  last_event_at: z.string(),
  undelivered: z.int(),
});
type Watch = z.output<typeof watchSchema>;
type Destination = z.output<typeof destinationSchema>;

const WATCHES_PATH = "/v3/watches";
/** From the root on. */
export const watchPath = (id: string, rest = "") => `${WATCHES_PATH}/${encodeURIComponent(id)}${rest}`;

/** `noisefloor watches list`. */
export async function runWatchesList(options: WatchesOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const { watches } = await client.ask({ path: WATCHES_PATH }, z.object({ watches: z.array(watchSchema) }));
  const toRow = (watch: Watch) => ({
    id: watch.id,
    name: watch.name,
    state: stateOf(watch),
    last_event: watch.last_event_at || "none",
    undelivered: watch.undelivered,
    waits_until: describeCondition(watch.on),
  });
  show(options.json ? watches : watches.map(toRow), options, context);
}

/** `noisefloor watches show`. */
export async function runWatchesShow(id: string, options: WatchesOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  printWatch(await client.ask({ path: watchPath(id) }, watchSchema), options, context);
}

/** `noisefloor watches add`. */
export async function runWatchesAdd(name: string, options: AddOptions, context: CommandContext): Promise<void> {
  const on = conditionOf(options);
  if (on === undefined) throw new UserError(`say what to wait for: one of ${KINDS}`);
  const { repeatAfterHours: repeat_after_hours, disabled, search } = options;
  const body = { name, on, repeat_after_hours, enabled: !disabled, deliver: destinationsOf(options) };
  const client = await queryClient(options, context);
  const question = {
    method: "POST",
    path: WATCHES_PATH,
    body,
    ...(search !== undefined && { query: search }),
  } as const;
  printWatch(await client.ask(question, watchSchema), options, context);
}

/** `noisefloor watches change`. */
export async function runWatchesChange(id: string, options: ChangeOptions, context: CommandContext): Promise<void> {
  const { name, repeatAfterHours: repeat_after_hours, removeDestination: removed = [], search } = options;
  const [on, added] = [conditionOf(options), destinationsOf(options)];
  const client = await queryClient(options, context);
  const path = watchPath(id);
  const { deliver } = await client.ask({ path }, watchSchema);
  const unknown = removed.find((each) => !deliver.some((destination) => destination.id === each));
  if (unknown !== undefined) throw new UserError(`the watch has no destination ${unknown}`);
  const kept = deliver.filter((destination) => !removed.includes(destination.id)).map((destination) => destination.id);
  const changesDeliver = added.length > 0 || removed.length > 0;
  const body = {
    ...{ name, on, repeat_after_hours },
    ...(changesDeliver && { deliver: [...kept.map((each) => ({ id: each })), ...added] }),
  };
  const question = { method: "PATCH", path, body, ...(search !== undefined && { query: search }) } as const;
  printWatch(await client.ask(question, watchSchema), options, context);
}

/** `noisefloor watches enable` and `disable`. */
export async function runWatchesEnable(
  id: string,
  enabled: boolean,
  options: WatchesOptions,
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const path = watchPath(id);
  const { deliver } = await client.ask({ path }, watchSchema);
  // A destination that is sent again is switched on.
  const body = { enabled, ...(enabled && { deliver: deliver.map((destination) => ({ id: destination.id })) }) };
  const watch = await client.ask({ method: "PATCH", path, body }, watchSchema);
  if (options.json) context.print(JSON.stringify(watch));
  else context.print(`${enabled ? "enabled" : "disabled"} the watch ${printable(watch.name)}`);
}

/** `noisefloor watches delete`. */
export async function runWatchesDelete(id: string, options: DeleteOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const { name } = await client.ask({ path: watchPath(id) }, watchSchema);
  const effect = `this deletes the watch ${printable(name)}, and what it did not deliver is not delivered any more`;
  await confirm(effect, options, context);
  await client.ask({ method: "DELETE", path: watchPath(id) }, z.unknown());
  context.print(options.json ? JSON.stringify({ deleted: id }) : `deleted the watch ${printable(name)}`);
}

const testSchema = z.object({ success: z.boolean(), status_code: z.int(), response_body: z.string() });

/** `noisefloor watches test`. */
export async function runWatchesTest(id: string, options: WatchesOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const answer = await client.ask({ method: "POST", path: watchPath(id, "/test") }, testSchema);
  if (options.json) context.print(JSON.stringify(answer));
  const { success, status_code: status, response_body: said } = answer;
  const result = printable([status === 0 ? "" : `HTTP ${status}`, said].filter((text) => text !== "").join(": "));
  if (!success) throw new UserError(`a destination did not take the test: ${result}`);
  if (!options.json) context.print(`every destination took the test${result === "" ? "" : `: ${result}`}`);
}

const stateOf = ({ enabled, origin }: Watch) =>
  `${enabled ? "enabled" : "disabled"}${origin === "file" ? ", of a file" : ""}`;

function printWatch(watch: Watch, { json }: OutputOptions, { print }: CommandContext): void {
  if (json) {
    print(JSON.stringify(watch));
    return;
  }
  const { repeat_after_hours: hours, deliver } = watch;
  const lines = [
    ["id", watch.id],
    ["name", watch.name],
    ["state", stateOf(watch)],
    ["waits until", describeCondition(watch.on)],
    // The other kinds tell of each thing once.
    ...(watch.on.type === "new_value" || watch.on.type === "sensor_silent"
      ? []
      : [["tells again", hours === 0 ? "never of the same" : `of the same after ${hours} hours`]]),
    ["counts since", watch.since],
    ["last event", watch.last_event_at || "none"],
    ["undelivered", String(watch.undelivered)],
    ...(deliver.length === 0 ? [["delivers to", "nobody: its events are fetched"]] : []),
    ...deliver.map((destination) => ["delivers to", describeDestination(destination)]),
    ...deliver.flatMap(({ id, secret }) => (secret === undefined ? [] : [[`secret ${id}`, secret]])),
  ];
  const width = Math.max(...lines.map(([label = ""]) => label.length));
  for (const [label = "", text = ""] of lines) print(`${label.padEnd(width)}  ${printable(text)}`);
  if (deliver.some(({ secret }) => secret !== undefined))
    print("Keep the secret, by which receivers verify signatures: it cannot be shown again.");
}

function describeDestination({ id, type, off, url, format, to, host, port, transport }: Destination): string {
  const where = url ?? to?.join(", ") ?? `${host}:${port} (${transport})`;
  const how = format === "greynoise" ? " as greynoise" : "";
  return `${id}  ${type}${how} ${where}${off ? ", off: it answered that it is gone" : ""}`;
}
