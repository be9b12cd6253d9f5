// biome-ignore-all lint/correctness/noUndeclaredDependencies: declared, the pages' build would install the packages
// The types of the API's answers, from the schemas by which the service describes and checks them. Types alone: nothing
// of the service gets into the pages.
import type { WatchCondition } from "@noisefloor/domain/watches/watch.ts";
import type { getTagActivity } from "@noisefloor/query/activity/route.ts";
import type { getIps } from "@noisefloor/query/address/route.ts";
import type { fullContextSchema, quickContextSchema } from "@noisefloor/query/address/schema.ts";
import type { getAddressObservations } from "@noisefloor/query/address-observations/observations-operation.ts";
import type {
  getAddressInteraction,
  getAddressSensors,
  getAddressTags,
} from "@noisefloor/query/address-observations/operations.ts";
import type { listCallbackIps } from "@noisefloor/query/callbacks/hosted/operations.ts";
import type { getCallbacks } from "@noisefloor/query/callbacks/operation.ts";
import type { getFeedGuarded } from "@noisefloor/query/feeds/guard-routes/feed-guarded.ts";
import type { getGuardedAttackers } from "@noisefloor/query/feeds/guard-routes/guarded-attackers.ts";
import type { getGuard } from "@noisefloor/query/feeds/guard-routes/route.ts";
import type { getFeed, listFeeds } from "@noisefloor/query/feeds/routes/definitions.ts";
import type { getFeedAddresses } from "@noisefloor/query/feeds/routes/first-addresses.ts";
import type { getFeedHistory } from "@noisefloor/query/feeds/routes/history.ts";
import type { createFeedToken, listFeedTokens } from "@noisefloor/query/feeds/routes/tokens.ts";
import type { getNetwork } from "@noisefloor/query/network/operation.ts";
import type { getPlans } from "@noisefloor/query/plans/route.ts";
import type { rowSchema, searchMetadata } from "@noisefloor/query/search/pages/operations.ts";
import type { searchStats } from "@noisefloor/query/search/stats.ts";
import type { validateQuery } from "@noisefloor/query/search/validate.ts";
import type { searchValues } from "@noisefloor/query/search/values.ts";
import type { listSensors } from "@noisefloor/query/sensors/operation.ts";
import type { getAddressesOfCountry, getAddressesOfNetwork } from "@noisefloor/query/stats/addresses-by-place.ts";
import type { getFirstSeen } from "@noisefloor/query/stats/first-seen.ts";
import type {
  getStatsByClassification,
  getStatsByCountry,
  getStatsByHour,
  getStatsByNetwork,
  getStatsByObservation,
} from "@noisefloor/query/stats/operations.ts";
import type { getTagSummary } from "@noisefloor/query/summary/route.ts";
import type { listTags } from "@noisefloor/query/tags/route.ts";
import type { getTagRule } from "@noisefloor/query/tags/rule.ts";
import type { getTimeline } from "@noisefloor/query/timeline/route.ts";
import type { timeseriesStats } from "@noisefloor/query/timeseries/operations.ts";
import type { getToday } from "@noisefloor/query/today/operation.ts";
import type { getWatch } from "@noisefloor/query/watches/routes/definitions.ts";
import type { listDeliveries, testWatch } from "@noisefloor/query/watches/routes/deliveries.ts";
import type { listEvents } from "@noisefloor/query/watches/routes/events.ts";

type Schema = { readonly _zod: { readonly output: unknown } };
type AnswerOf<Operation extends { readonly success: { readonly schema: Schema } }> =
  Operation["success"]["schema"]["_zod"]["output"];

export type AddressContext = (typeof fullContextSchema)["_zod"]["output"];
export type QuickContext = (typeof quickContextSchema)["_zod"]["output"];
export type Contexts = Omit<AnswerOf<typeof getIps>, "data"> & {
  readonly data: readonly (QuickContext | AddressContext)[];
};
export type Service = AddressContext["business_service_intelligence"];
export type Scanner = AddressContext["internet_scanner_intelligence"];
export type ContextTag = Scanner["tags"][number];
export type CallbackAddresses = AnswerOf<typeof listCallbackIps>;
export type Callbacks = AnswerOf<typeof getCallbacks>;
export type Callback = Callbacks["callbacks"][number];
export type AddressTags = AnswerOf<typeof getAddressTags>;
export type AddressTag = AddressTags["tags"][number];
export type Interaction = AnswerOf<typeof getAddressInteraction>;
export type AddressObservations = AnswerOf<typeof getAddressObservations>;
export type AddressObservation = AddressObservations["observations"][number];
export type AddressSensors = AnswerOf<typeof getAddressSensors>;
export type NetworkAddresses = AnswerOf<typeof getNetwork>;
export type Timeline = AnswerOf<typeof getTimeline>;
export type TimelineField = Timeline["metadata"]["field"];

export type QueryValidation = AnswerOf<typeof validateQuery>;
export type SearchPage = Omit<AnswerOf<typeof searchMetadata>, "data"> & {
  readonly data: readonly (typeof rowSchema)["_zod"]["output"][];
};
export type TimeseriesStats = AnswerOf<typeof timeseriesStats>;
export type SearchStats = AnswerOf<typeof searchStats>;
export type SearchValues = AnswerOf<typeof searchValues>;

export type TagList = AnswerOf<typeof listTags>;
export type Tag = TagList["tags"][number];
export type Intention = Tag["intention"];
export type TagRule = AnswerOf<typeof getTagRule>;
export type TagSummary = AnswerOf<typeof getTagSummary>;
export type TagActivity = AnswerOf<typeof getTagActivity>;
export type Bucket = NonNullable<TagActivity["activity"][Intention]>[number];

export type StatsByHour = AnswerOf<typeof getStatsByHour>;
export type StatsByObservation = AnswerOf<typeof getStatsByObservation>;
export type StatsByNetwork = AnswerOf<typeof getStatsByNetwork>;
export type StatsByCountry = AnswerOf<typeof getStatsByCountry>;
export type StatsByClassification = AnswerOf<typeof getStatsByClassification>;
export type FirstSeen = AnswerOf<typeof getFirstSeen>;
export type AddressesOfNetwork = AnswerOf<typeof getAddressesOfNetwork>;
export type AddressesOfCountry = AnswerOf<typeof getAddressesOfCountry>;
export type Today = AnswerOf<typeof getToday>;
export type SensorList = AnswerOf<typeof listSensors>;
export type Sensor = SensorList["sensors"][number];
export type Plans = AnswerOf<typeof getPlans>;

/** An answer has all that a request may leave out of the condition. */
export type Watch = Omit<AnswerOf<typeof getWatch>, "on"> & { readonly on: WatchCondition };
export type WatchList = { readonly watches: readonly Watch[] };
export type WatchDestination = Watch["deliver"][number];
export type WatchEvents = AnswerOf<typeof listEvents>;
export type WatchEvent = WatchEvents["events"][number];
export type WatchDeliveries = AnswerOf<typeof listDeliveries>;
export type WatchTest = AnswerOf<typeof testWatch>;

export type FeedList = AnswerOf<typeof listFeeds>;
export type Feed = AnswerOf<typeof getFeed>;
export type FeedAddresses = AnswerOf<typeof getFeedAddresses>;
export type FeedHistory = AnswerOf<typeof getFeedHistory>;
export type HeldBack = AnswerOf<typeof getFeedGuarded>;
export type GuardedAttackers = AnswerOf<typeof getGuardedAttackers>;
export type FeedTokens = AnswerOf<typeof listFeedTokens>;
export type FeedToken = AnswerOf<typeof createFeedToken>;
/** A feed as JSON with `since`: the members that the pages show. */
export type FeedChanges = {
  readonly added: readonly ChangedHost[];
  readonly removed: readonly ChangedHost[];
};
/** `host` of a feed of callbacks. */
type ChangedHost = { readonly ip?: string; readonly host?: string };
type Guard = AnswerOf<typeof getGuard>;
export type GuardedNetworks = Extract<Guard, { readonly networks: unknown }>;
export type Guarded = Extract<Guard, { readonly guarded: unknown }>;
