import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { show } from "../../framework/output.ts";
import { queryClient } from "../../query-client/client.ts";
import { type FeedsOptions, feedPath } from "./definitions.ts";

const tokenSchema = z.object({
  id: z.string(),
  label: z.string(),
  created_at: z.string(),
  last_used_at: z.string().default(""),
});
const newTokenSchema = z.object({ id: z.string(), label: z.string(), token: z.string(), url: z.string() });

const tokensPath = (feed: string) => `${feedPath(feed)}/tokens`;

/** `noisefloor feeds token create`. */
export async function runTokenCreate(
  feed: string,
  options: FeedsOptions & { readonly label: string },
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const { label } = options;
  const made = await client.ask({ method: "POST", path: tokensPath(feed), body: { label } }, newTokenSchema);
  const { print } = context;
  if (options.json) {
    print(JSON.stringify(made));
    return;
  }
  print(`id     ${made.id}`);
  print(`token  ${made.token}`);
  print(`list   ${made.url}`);
  print("Keep the token: only its hash is stored, so it cannot be shown again.");
}

/** `noisefloor feeds token list`. */
export async function runTokenList(feed: string, options: FeedsOptions, context: CommandContext): Promise<void> {
  const client = await queryClient(options, context);
  const { tokens } = await client.ask({ path: tokensPath(feed) }, z.object({ tokens: z.array(tokenSchema) }));
  const rows = tokens.map((token) => ({ ...token, last_used_at: token.last_used_at || "never" }));
  show(options.json ? tokens : rows, options, context);
}

/** `noisefloor feeds token revoke`. */
export async function runTokenRevoke(
  feed: string,
  id: string,
  options: FeedsOptions,
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  await client.ask({ method: "DELETE", path: `${tokensPath(feed)}/${encodeURIComponent(id)}` }, z.unknown());
  context.print(options.json ? JSON.stringify({ revoked: id }) : `revoked ${id}`);
}
