import { createHmac } from "node:crypto";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import type { Post } from "../http-request.ts";
import type { Message } from "../message.ts";
import { keyOf } from "../secrets.ts";
import { greynoiseBodies } from "./greynoise.ts";

type Webhook = Extract<Destination, { type: "webhook" }>;

/**
 * Signed as of Standard Webhooks, each at its time.
 * @returns one request; of the hosted service's bodies, which tell of one address or one CVE each, several.
 */
export function* webhookPosts(
  webhook: Webhook,
  { event, body, workspaceId }: Message,
  now: () => number,
): Generator<Post> {
  if (webhook.format === "standard") return yield signed(webhook, event.id, body, now());
  const bodies = greynoiseBodies(event, workspaceId);
  for (const [index, each] of bodies.entries()) {
    // Receivers ignore a second request with the same id.
    const id = bodies.length === 1 ? event.id : `${event.id}-${index}`;
    yield signed(webhook, id, JSON.stringify(each), now());
  }
}

function signed({ url, secret }: Webhook, id: string, body: string, now: number): Post {
  const timestamp = String(Math.floor(now / 1_000));
  const key = keyOf(secret);
  if (key === undefined) throw new Error("the secret is not one of Standard Webhooks");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    url,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    },
    body,
  };
}
