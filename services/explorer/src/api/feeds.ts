import type {
  Feed,
  FeedAddresses,
  FeedChanges,
  FeedHistory,
  FeedList,
  FeedToken,
  FeedTokens,
  Guarded,
  GuardedAttackers,
  GuardedNetworks,
  HeldBack,
} from "./operations.ts";
import type { Question } from "./questions.ts";

/** What a form about a feed sends. */
export type FeedDefinition = Pick<
  Feed,
  "of" | "query" | "days" | "description" | "limit" | "guard" | "keep_fallen" | "enabled"
> &
  Partial<Pick<Feed, "ttl_hours">>;

const path = (name: string) => `/v3/feeds/${encodeURIComponent(name)}`;
const remove = (url: string): Question<null> => ({ method: "DELETE", url, onNoContent: null });

export const allFeeds = (): Question<FeedList> => ({ url: "/v3/feeds" });
export const feedOf = (name: string): Question<Feed> => ({ url: path(name) });
export const putFeed = (name: string, definition: FeedDefinition): Question<Feed> => ({
  method: "PUT",
  url: path(name),
  body: JSON.stringify(definition),
});
export const deleteFeed = (name: string) => remove(path(name));
/** What has changed in a feed since a cursor. */
export const changesOf = (name: string, cursor: string): Question<FeedChanges> => ({
  url: `${path(name)}.json?${new URLSearchParams({ since: cursor })}`,
});

/** The first addresses that a feed lists. */
export const addressesOf = (name: string, limit: number): Question<FeedAddresses> => ({
  url: `${path(name)}/addresses?${new URLSearchParams({ limit: String(limit) })}`,
});
export const formPath = (name: string, form: string) => `${path(name)}.${form}`;

/** The lists that a feed had, the newest first. */
export const historyOf = (name: string): Question<FeedHistory> => ({ url: `${path(name)}/history` });
export const heldBackOf = (name: string): Question<HeldBack> => ({ url: `${path(name)}/guarded` });

export const tokensOfFeed = (name: string): Question<FeedTokens> => ({ url: `${path(name)}/tokens` });
export const createToken = (name: string, label: string): Question<FeedToken> => ({
  method: "POST",
  url: `${path(name)}/tokens`,
  body: JSON.stringify({ label }),
});
export const revokeToken = (name: string, id: string) => remove(`${path(name)}/tokens/${encodeURIComponent(id)}`);

export const guardedNetworks = (): Question<GuardedNetworks> => ({ url: "/v3/guard" });
/** Guarded addresses that attacked, and those that a feed may list therefore. */
export const guardedAttackers = (): Question<GuardedAttackers> => ({ url: "/v3/guard/attackers" });
/** Whether an address is guarded, and why. */
export const guardOf = (ip: string): Question<Guarded> => ({ url: `/v3/guard?${new URLSearchParams({ ip })}` });
export const guardNetwork = (network: string, note: string): Question<GuardedNetworks["networks"][number]> => ({
  method: "POST",
  url: "/v3/guard",
  body: JSON.stringify({ network, note }),
});
export const unguardNetwork = (id: string) => remove(`/v3/guard/${encodeURIComponent(id)}`);
