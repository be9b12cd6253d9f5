import { isDeepStrictEqual } from "node:util";
import { numberToIpv4, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import {
  type Destination,
  MAX_DESTINATIONS,
  MAX_WATCHED_NETWORKS,
  NEW_VALUE_FIELDS,
  type Watch,
  type WatchCondition,
} from "@noisefloor/domain/watches/watch.ts";
import type { z } from "zod";
import { whyNoRises } from "../tag-rises/rises.ts";
import type { WatchesService, WatchRouteDeps } from "./deps.ts";
import {
  changedWatchSchema,
  DEFAULT_MIN_ADDRESSES,
  DEFAULT_REPEAT_HOURS,
  MAX_REPEAT_HOURS,
  type SentDestination,
  SILENT_MINUTES,
  type sentConditionSchema,
  sentWatchSchema,
  toDestination,
  watchSchema,
} from "./wire-watch.ts";

/** What a request or a file says of a watch is wrong: the message names the member, and is a sentence without its subject. */
export class WrongWatchError extends Error {
  override name = "WrongWatchError";
}

export const NO_DEFINITION = 'must be {"name": "...", "on": {"type": "..."}}';

/** What people say of a watch. */
export type Definition = Pick<Watch, "name" | "on" | "repeatAfterHours" | "isEnabled" | "deliver">;

/** What decides whether a definition is right. */
export type DefinitionRules = Pick<WatchesService, "checkDestination" | "newSecret"> &
  Pick<WatchRouteDeps, "catalogue" | "now" | "retentionDays">;

/** Whether a changed watch goes on: with another condition, and when it is enabled again, it begins anew. */
export const goesOn = (before: Definition, now: Definition): boolean =>
  isDeepStrictEqual(before.on, now.on) && (before.isEnabled || !now.isEnabled);

/** @param before the destinations that the watch has. @throws WrongWatchError */
export function toDefinition(sent: unknown, before: readonly Destination[], rules: DefinitionRules): Definition {
  const { name, on, repeat_after_hours, enabled = true, deliver = [] } = parsed(sentWatchSchema, sent);
  return {
    name,
    on: toCondition(on, rules),
    repeatAfterHours: repeat_after_hours ?? DEFAULT_REPEAT_HOURS[on.type],
    isEnabled: enabled,
    deliver: toDestinations(deliver, before, rules),
  };
}

/** The definition of a watch of which some members change. @throws WrongWatchError */
export function toChanged(sent: unknown, before: Definition, rules: DefinitionRules): Definition {
  const { name, on, repeat_after_hours, enabled, deliver } = parsed(changedWatchSchema, sent);
  return {
    name: name ?? before.name,
    on: on === undefined ? before.on : toCondition(on, rules),
    repeatAfterHours: repeat_after_hours ?? before.repeatAfterHours,
    isEnabled: enabled ?? before.isEnabled,
    deliver: deliver === undefined ? before.deliver : toDestinations(deliver, before.deliver, rules),
  };
}

function toDestinations(sent: readonly SentDestination[], before: readonly Destination[], rules: DefinitionRules) {
  return sent.map((each) => {
    const destination = toDestination(each, before, rules);
    if (typeof destination === "string") throw new WrongWatchError(`deliver: ${destination}`);
    const refused = rules.checkDestination(destination);
    if (refused !== undefined) throw new WrongWatchError(`deliver: ${refused}`);
    return destination;
  });
}

/** What answers have beside what is sent: a watch that was read may be sent back. */
const READ_ONLY: ReadonlySet<string> = new Set(
  Object.keys(watchSchema.shape).filter((member) => !Object.hasOwn(sentWatchSchema.shape, member)),
);

function withoutReadOnly(sent: unknown): unknown {
  if (typeof sent !== "object" || sent === null) return sent;
  return Object.fromEntries(
    Object.entries(sent).flatMap(([member, value]) => {
      if (READ_ONLY.has(member)) return [];
      return [[member, member === "deliver" && Array.isArray(value) ? value.map(withoutOff) : value]];
    }),
  );
}

function withoutOff(destination: unknown): unknown {
  if (typeof destination !== "object" || destination === null) return destination;
  return Object.fromEntries(Object.entries(destination).filter(([member]) => member !== "off"));
}

/** @throws WrongWatchError that names the first member that is wrong. */
function parsed<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(withoutReadOnly(body));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = (issue?.path ?? []).filter((part) => typeof part === "string");
  if (issue?.code === "unrecognized_keys")
    throw new WrongWatchError(`${[...path, issue.keys[0]].join(".")} is unknown`);
  for (; path.length > 0; path.pop()) {
    const takes = TAKES[path.join(".")];
    if (takes !== undefined) throw new WrongWatchError(`${path.join(".")} takes ${takes}`);
  }
  throw new WrongWatchError(NO_DEFINITION);
}

const TYPES = "network_seen, search_matches, tag_rises, new_value or sensor_silent";
const TAKES: Readonly<Record<string, string>> = {
  name: "1 to 200 characters",
  on: `an object with a type: ${TYPES}`,
  "on.type": TYPES,
  "on.networks": `a list of 1 to ${MAX_WATCHED_NETWORKS} IPv4 networks`,
  "on.query": `a query of 1 to ${MAX_QUERY_LENGTH} characters`,
  "on.tag": "the slug of a tag",
  "on.field": `one of ${NEW_VALUE_FIELDS.join(", ")}`,
  "on.min_addresses": "a whole number from 1 to 1000",
  "on.sensors": "a list of at most 1000 names of sensors",
  "on.after_minutes": `a whole number from ${SILENT_MINUTES.min} to ${SILENT_MINUTES.max}`,
  repeat_after_hours: `a whole number from 0 to ${MAX_REPEAT_HOURS}`,
  enabled: "true or false",
  deliver: `a list of at most ${MAX_DESTINATIONS} destinations`,
  "deliver.type": "webhook, email, slack, mattermost, ntfy or syslog",
  "deliver.url": "a URL of at most 2000 characters",
  "deliver.format": "standard or greynoise",
  "deliver.to": "a list of 1 to 20 addresses",
  "deliver.port": "a whole number from 1 to 65535",
  "deliver.transport": "tcp or tls",
};

/** The condition as it is stored. @throws WrongWatchError for one that nothing can meet. */
function toCondition(sent: z.output<typeof sentConditionSchema>, rules: DefinitionRules): WatchCondition {
  switch (sent.type) {
    case "network_seen":
      return { ...sent, networks: [...new Set(sent.networks.map(toNetwork))] };
    case "tag_rises": {
      const tag = rules.catalogue.all().find(({ slug, id }) => slug === sent.tag || id === sent.tag.toLowerCase());
      if (tag === undefined) throw new WrongWatchError(`on.tag: no tag is called "${sent.tag}"`);
      const never = whyNoRises(rules.retentionDays());
      if (never !== undefined) throw new WrongWatchError(`on.type: ${never}`);
      return { ...sent, tag: tag.slug };
    }
    case "new_value":
      return { ...sent, min_addresses: sent.min_addresses ?? DEFAULT_MIN_ADDRESSES };
    case "sensor_silent":
      return { ...sent, sensors: [...new Set(sent.sensors ?? [])] };
    case "search_matches":
      return sent;
  }
}

function toNetwork(text: string): string {
  const network = parseNetwork(plainIpv4(text.trim()));
  if (typeof network === "string") throw new WrongWatchError(`on.networks: "${text}": ${network}`);
  return `${numberToIpv4(network.first)}/${network.length}`;
}
