import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { printable, show } from "../../framework/output.ts";
import { queryClient } from "../../query-client/client.ts";
import type { FeedsOptions } from "./definitions.ts";

const GUARD_PATH = "/v3/guard";
const networkSchema = z.object({ id: z.string(), network: z.string(), note: z.string(), created_at: z.string() });
const checkSchema = z.looseObject({
  guarded: z.boolean(),
  reason: z.string(),
  name: z.string(),
  network: z.string(),
  note: z.string(),
  attacked: z.boolean(),
});

/** `noisefloor feeds guard list`. */
export async function runGuardList(options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const { networks } = await client.ask({ path: GUARD_PATH }, z.object({ networks: z.array(networkSchema) }));
  show(networks, options, context);
}

/** `noisefloor feeds guard add`. */
export async function runGuardAdd(
  network: string,
  options: FeedsOptions & { readonly note: string },
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const body = { network, note: options.note };
  const added = await client.ask({ method: "POST", path: GUARD_PATH, body }, networkSchema);
  context.print(options.json ? JSON.stringify(added) : `guards ${added.network}, id ${added.id}`);
}

/** `noisefloor feeds guard remove`. */
export async function runGuardRemove(id: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  await client.ask({ method: "DELETE", path: `${GUARD_PATH}/${encodeURIComponent(id)}` }, z.unknown());
  context.print(options.json ? JSON.stringify({ removed: id }) : `guards ${id} no longer`);
}

/** Why an address is guarded, by the `reason` of the answer. */
const REASONS: Readonly<Record<string, string>> = {
  service: "it belongs to a known benign service",
  actor: "it belongs to a known benign actor",
  own_address: "it is one of OWN_ADDRESSES",
  network: "it is in a guarded network",
};

/** `noisefloor feeds guard check`. */
export async function runGuardCheck(ip: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const found = await client.ask({ path: GUARD_PATH, parameters: { ip } }, checkSchema);
  if (options.json) {
    context.print(JSON.stringify(found));
    return;
  }
  const details = [found.name, found.network, found.note].filter((text) => text !== "").join(", ");
  const reason = `${REASONS[found.reason] ?? found.reason}${details === "" ? "" : ` (${details})`}`;
  const attack = found.attacked ? "; it attacked" : "";
  context.print(printable(`${ip} is ${found.guarded ? `guarded: ${reason}` : "not guarded"}${attack}`));
}

const heldBackSchema = z.object({
  ip: z.string(),
  reason: z.string(),
  name: z.string(),
  network: z.string(),
  note: z.string(),
  attacked: z.boolean(),
});

const attackerSchema = z.object({
  ip: z.string(),
  classification: z.string(),
  last_seen: z.string(),
  guarded: z.boolean(),
  reason: z.string(),
  name: z.string(),
  network: z.string(),
  note: z.string(),
});

/** `noisefloor feeds guard attackers`. */
export async function runGuardAttackers(options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const schema = z.object({ addresses: z.array(attackerSchema) });
  const { addresses } = await client.ask({ path: `${GUARD_PATH}/attackers` }, schema);
  show(addresses, options, context);
}

/** `noisefloor feeds guarded`. */
export async function runFeedsGuarded(name: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const path = `/v3/feeds/${encodeURIComponent(name)}/guarded`;
  const { addresses } = await client.ask({ path }, z.object({ addresses: z.array(heldBackSchema) }));
  show(addresses, options, context);
}
