import type {
  AddressContext,
  AddressesOfCountry,
  AddressesOfNetwork,
  AddressObservations,
  AddressSensors,
  AddressTags,
  CallbackAddresses,
  Callbacks,
  Contexts,
  FirstSeen,
  Interaction,
  NetworkAddresses,
  Plans,
  QueryValidation,
  SearchPage,
  SearchStats,
  SearchValues,
  SensorList,
  StatsByClassification,
  StatsByCountry,
  StatsByHour,
  StatsByNetwork,
  StatsByObservation,
  TagActivity,
  TagList,
  TagRule,
  TagSummary,
  Timeline,
  TimelineField,
  TimeseriesStats,
  Today,
} from "./operations.ts";

/** A call of the API, with the type of its answer. */
export type Question<Answer> = {
  /** By default a GET, or a POST if there is a body. */
  readonly method?: "PUT" | "PATCH" | "POST" | "DELETE";
  /** From `/v3` on, with its query. */
  readonly url: string;
  /** JSON. */
  readonly body?: string;
  /** What a 204 stands for; undefined where the answer is JSON. */
  readonly onNoContent?: Answer;
};

type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** Leaves out undefined and empty values: the service has defaults for them. */
export function toUrl(path: string, values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

const question = <Answer>(path: string, values?: Values): Question<Answer> => ({ url: toUrl(path, values) });

type CallbacksAsked = Values & { readonly query: string; readonly limit: number };
export const allCallbacks = (asked: CallbacksAsked) => question<Callbacks>("/v3/callbacks", asked);
/** What is known of an address as a callback: a list of one, or none. */
export const callbackOf = (ip: string): Question<CallbackAddresses> => ({
  url: "/v1/callback/ips",
  body: JSON.stringify({ ips: [ip], page_size: 1 }),
});

export const addressOf = (ip: string) => question<AddressContext>(`/v3/ip/${encodeURIComponent(ip)}`);
/** @param isQuick for less of each. */
export const contextsOf = (ips: readonly string[], isQuick: boolean): Question<Contexts> => ({
  url: toUrl("/v3/ip", { quick: isQuick }),
  body: JSON.stringify({ ips }),
});
export const timelineOf = (ip: string, field: TimelineField, days: number, granularity: string) =>
  question<Timeline>(`/v3/noise/ips/${encodeURIComponent(ip)}/timeline`, { field, days, granularity });

export const tagsOf = (ip: string) => question<AddressTags>(`/v3/noise/ips/${encodeURIComponent(ip)}/tags`);
export const interactionOf = (ip: string) =>
  question<Interaction>(`/v3/noise/ips/${encodeURIComponent(ip)}/interaction`);
export const observationsOf = (ip: string, cursor: string) =>
  question<AddressObservations>(`/v3/noise/ips/${encodeURIComponent(ip)}/observations`, { cursor });
export const sensorsOf = (ip: string) => question<AddressSensors>(`/v3/noise/ips/${encodeURIComponent(ip)}/sensors`);
export const networkOf = (ip: string, length: string, limit: number) =>
  question<NetworkAddresses>(`/v3/noise/networks/${encodeURIComponent(ip)}/${encodeURIComponent(length)}`, { limit });

export const validationOf = (query: string): Question<QueryValidation> => ({
  url: "/v3/gnql/validate",
  body: JSON.stringify({ query }),
});
/** @param days empty for all that is stored. */
export const searchMetadataOf = (query: string, days: string, size: number, scroll: string) =>
  question<SearchPage>("/v3/gnql/metadata", { query, days, size, scroll });
export const searchStatsOf = (query: string, days: string, count: number) =>
  question<SearchStats>("/v3/gnql/stats", { query, days, count });

export const searchValuesOf = (query: string, days: string, count: number) =>
  question<SearchValues>("/v3/gnql/values", { query, days, count });

/** @param start RFC 3339. */
export const timeseriesOf = (query: string, interval: "hour" | "day", start: string) =>
  question<TimeseriesStats>("/v3/gnql/timeseries/stats", { query, interval, start });

export const allTags = () => question<TagList>("/v3/tags");
export const tagBySlug = (slug: string) => question<TagList>("/v3/tags", { slug });
export const ruleOf = (slug: string) => question<TagRule>(`/v3/noise/tags/${encodeURIComponent(slug)}/rule`);

export type ActivityOptions = {
  readonly days: number;
  readonly granularity: string;
  readonly includesIps?: boolean;
  /** Scopes, separated by commas; empty for the default. */
  readonly scopes?: string;
};
export const activityOf = (id: string, { days, granularity, includesIps, scopes }: ActivityOptions) =>
  question<TagActivity>(`/v3/tags/${encodeURIComponent(id)}/activity`, {
    days,
    granularity,
    include_ips: includesIps === true ? true : undefined,
    workspace_labels: scopes,
  });
export const tagSummary = (days: number, limit: number, sort: "active" | "trending" | "anomalies") =>
  question<TagSummary>("/v3/summary/tags", { days, limit, sort });

export const statsByHour = (days: number) => question<StatsByHour>("/v3/stats/hours", { days });
export const statsByObservation = (days: number) => question<StatsByObservation>("/v3/stats/observations", { days });
export const statsByNetwork = (days: number, limit: number) =>
  question<StatsByNetwork>("/v3/stats/networks", { days, limit });
export const statsByCountry = (days: number, limit: number) =>
  question<StatsByCountry>("/v3/stats/countries", { days, limit });
export const statsByClassification = (days: number) =>
  question<StatsByClassification>("/v3/stats/classifications", { days });
export const firstSeenLately = (days: number, limit: number) =>
  question<FirstSeen>("/v3/stats/first-seen", { days, limit });
export const addressesOfNetwork = (asn: string, days: number, limit: number) =>
  question<AddressesOfNetwork>(`/v3/stats/networks/${encodeURIComponent(asn)}`, { days, limit });
export const addressesOfCountry = (country: string, days: number, limit: number) =>
  question<AddressesOfCountry>(`/v3/stats/countries/${encodeURIComponent(country)}`, { days, limit });
export const today = () => question<Today>("/v3/today");
export const allSensors = () => question<SensorList>("/v3/sensors");
export const plansOfService = () => question<Plans>("/v3/plans");
