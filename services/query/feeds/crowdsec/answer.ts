import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import type { DecisionChanges } from "./changes.ts";
import { type Decision, ORIGINS, originAt, toDecision } from "./decisions.ts";

/**
 * Bouncers whose sets keep the end that an address came with, and which apply `deleted` first: the firewall bouncer, and
 * programs made with CrowdSec's library for Go that name nothing else, MikroTik's bouncers among them.
 */
const RENEWS_BY_DELETION = /^(?:crowdsec-firewall-bouncer|Go-http-client)\//;

/** Bouncers that ignore a decision whose origin and value they have, and keep it until that origin is deleted. */
const RENEWS_BY_ORIGIN = /^(?:nodejs-cs-bouncer|csphplapi)/;

type AnswerOptions = {
  readonly feed: Pick<Feed, "name" | "ttlHours">;
  readonly turn: number;
  readonly userAgent: string | undefined;
};

/**
 * The decisions of an answer. As with CrowdSec, `ended` never names an address that stays, and a decision that goes on
 * is announced anew: many bouncers apply `new` first. The two exceptions are bouncers that do not take it so.
 * @param turn of the answer.
 */
export function toAnswer(
  { started, ended, prolonged }: DecisionChanges,
  { feed, turn, userAgent = "" }: AnswerOptions,
): { readonly started: Iterable<Decision>; readonly ended: Iterable<Decision> } {
  if (RENEWS_BY_ORIGIN.test(userAgent)) {
    return { started: startedOf(started, prolonged, feed, turn), ended: endedOf(ended, feed) };
  }
  const isRenewedByDeletion = RENEWS_BY_DELETION.test(userAgent);
  return {
    started: decisionsOf([started, prolonged], feed),
    ended: decisionsOf(isRenewedByDeletion ? [ended, prolonged] : [ended], feed),
  };
}

export function* decisionsOf(lists: readonly Uint32Array[], feed: AnswerOptions["feed"]): Generator<Decision> {
  for (const addresses of lists) for (const address of addresses) yield toDecision(address, feed);
}

function* startedOf(
  started: Uint32Array,
  prolonged: Uint32Array,
  feed: AnswerOptions["feed"],
  turn: number,
): Generator<Decision> {
  yield* decisionsOf([started], feed);
  for (const address of prolonged) yield toDecision(address, feed, originAt(address, turn));
}

function* endedOf(ended: Uint32Array, feed: AnswerOptions["feed"]): Generator<Decision> {
  for (const address of ended) for (const origin of ORIGINS) yield toDecision(address, feed, origin);
}
