import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { type QueryClientOptions, queryClient } from "../../query-client/client.ts";

export type AskOptions = QueryClientOptions & OutputOptions;
export type ListOptions = AskOptions & {
  readonly days?: number | undefined;
  readonly limit: number;
  readonly unknown: boolean;
};

const callbackSchema = z.looseObject({
  ...{ host: z.string(), known: z.boolean(), known_as: z.string(), ports: z.array(z.int()), visitors: z.int() },
  ...{ first_seen: z.string(), last_seen: z.string(), commands: z.array(z.string()), urls: z.array(z.string()) },
});

/** `noisefloor callbacks`. */
export async function runCallbacksList(query: string, options: ListOptions, context: CommandContext): Promise<void> {
  const { days, limit, unknown: isUnknown, json } = options;
  const client = await queryClient(options, context);
  const known = isUnknown ? "false" : undefined;
  const parameters = { query: query === "" ? undefined : query, days, limit, known };
  const schema = z.object({ count: z.int(), callbacks: z.array(callbackSchema) });
  const { count, callbacks } = await client.ask({ path: "/v3/callbacks", parameters, query }, schema);
  if (json) {
    context.print(JSON.stringify({ count, callbacks }));
    return;
  }
  const rows = callbacks.map(({ host, known_as, ports, visitors, first_seen, last_seen, commands, urls }) => ({
    ...{ host, known_as: known_as || "-", ports: ports.join(",") || "-", visitors, first_seen, last_seen },
    latest: cut(commands[0] ?? urls[0] ?? ""),
  }));
  show(rows, options, context);
  if (count > callbacks.length) context.print(`and ${count - callbacks.length} more`);
}

const MAX_SHOWN = 100;
const cut = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);

const KNOWN_PATH = "/v3/callback/known";
const knownSchema = z.looseObject({
  ...{ host: z.string(), origin: z.string(), operator: z.string(), note: z.string(), date: z.string() },
  held_back: z.object({ hosts: z.int(), visitors: z.int(), last_seen: z.string() }),
});

/** `noisefloor callbacks known list`. */
export async function runKnownList(
  options: AskOptions & { readonly all: boolean },
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const { hosts } = await client.ask({ path: KNOWN_PATH }, z.object({ hosts: z.array(knownSchema) }));
  const listed = hosts.filter(({ origin, held_back }) => options.all || origin === "own" || held_back.hosts > 0);
  const toRow = ({ host, origin, operator, note, date, held_back: held }: z.output<typeof knownSchema>) => ({
    ...{ host, origin, what: operator || note || "-", date, held_back: held.hosts, visitors: held.visitors },
  });
  show(options.json ? listed : listed.map(toRow), options, context);
}

/** `noisefloor callbacks known add`. */
export async function runKnownAdd(
  host: string,
  options: AskOptions & { readonly note: string },
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const body = { host, note: options.note };
  const added = await client.ask({ method: "POST", path: KNOWN_PATH, body }, knownSchema);
  context.print(options.json ? JSON.stringify(added) : `knows ${printable(added.host)} and every name below it`);
}

/** `noisefloor callbacks known remove`. */
export async function runKnownRemove(host: string, options: AskOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  await client.ask({ method: "DELETE", path: `${KNOWN_PATH}/${encodeURIComponent(host)}` }, z.unknown());
  context.print(options.json ? JSON.stringify({ removed: host }) : `knows ${printable(host)} no longer`);
}
