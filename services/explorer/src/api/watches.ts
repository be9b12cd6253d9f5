import type { Watch, WatchDeliveries, WatchEvents, WatchList, WatchTest } from "./operations.ts";
import type { Question } from "./questions.ts";

/** What a form about a watch sends. Destinations that have an id stay as they are. */
export type WatchDefinition = Pick<Watch, "name" | "on" | "repeat_after_hours" | "enabled"> & {
  readonly deliver: readonly object[];
};

const ROOT = "/v3/watches";
const path = (id: string) => `${ROOT}/${encodeURIComponent(id)}`;

export const allWatches = (): Question<WatchList> => ({ url: ROOT });
export const watchOf = (id: string): Question<Watch> => ({ url: path(id) });
export const addWatch = (definition: WatchDefinition): Question<Watch> => ({
  url: ROOT,
  body: JSON.stringify(definition),
});
export const changeWatch = (id: string, changes: Partial<WatchDefinition>): Question<Watch> => ({
  method: "PATCH",
  url: path(id),
  body: JSON.stringify(changes),
});
export const deleteWatch = (id: string): Question<null> => ({ method: "DELETE", url: path(id), onNoContent: null });

/** @param id empty for the events of all watches. */
export const newestEvents = (id: string, limit: number): Question<WatchEvents> => ({
  url: `${id === "" ? ROOT : path(id)}/events?newest=true&limit=${limit}`,
});
export const deliveriesOf = (id: string, limit: number): Question<WatchDeliveries> => ({
  url: `${path(id)}/deliveries?limit=${limit}`,
});
export const retryDelivery = (id: string, event: string): Question<unknown> => ({
  method: "POST",
  url: `${path(id)}/deliveries/${encodeURIComponent(event)}/retry`,
});
export const testWatch = (id: string): Question<WatchTest> => ({ method: "POST", url: `${path(id)}/test` });
