import {
  expectedCode,
  expectedCommunity,
  expectedFlat,
  expectedFull,
  expectedQuick,
  expectedRiot,
  isFound,
  type Known,
} from "./address-oracle.ts";
import { expectedActivity } from "./expected-activity.ts";
import {
  expectedClassifications,
  expectedCountries,
  expectedFirstSeen,
  expectedHours,
  expectedNetworks,
  expectedOfCountry,
  expectedOfNetwork,
  expectedSummary,
} from "./expected-stats.ts";
import { expectedAddressTags, expectedInteraction, expectedNetwork } from "./noise-oracle.ts";
import { createOracle } from "./oracle.ts";
import { expectedTimeline, TIMELINE_FIELDS } from "./timeline-oracle.ts";
import { type Visibility, visibilityOf } from "./visibility-rules.ts";
import {
  error,
  GLOBAL,
  inQuery,
  labelsIn,
  type Operation,
  ok,
  perhapsAddress,
  type Question,
  randomAddress,
  randomLabels,
  type Setting,
  withVisibility,
} from "./visibility-setting.ts";

/** With unrecognized scopes only, lists of networks do not count either. */
const seenBy = (visibility: Visibility, known: Known): Known =>
  "sees" in visibility && visibility.namesNothing
    ? { seen: [], tags: known.tags, serviceOf: () => undefined, actorOf: () => undefined }
    : known;

const oracleOf = (known: Known) => createOracle(known.seen, known.tags, (ip) => known.actorOf(ip) !== undefined);
type StatsAsked = Parameters<typeof expectedSummary>[2];
const STATS = [
  { name: "hours", form: ({ seen }: Known, asked: StatsAsked) => expectedHours(seen, asked) },
  { name: "networks", form: ({ seen }: Known, asked: StatsAsked) => expectedNetworks(seen, asked) },
  { name: "countries", form: ({ seen }: Known, asked: StatsAsked) => expectedCountries(seen, asked) },
  {
    name: "classifications",
    form: (known: Known, asked: StatsAsked) => expectedClassifications(known.seen, oracleOf(known), asked),
  },
  { name: "first-seen", form: ({ seen }: Known, asked: StatsAsked) => expectedFirstSeen(seen, asked) },
  { name: "networks/AS64500", form: ({ seen }: Known, asked: StatsAsked) => expectedOfNetwork(seen, asked, 64_500) },
  { name: "countries/DE", form: ({ seen }: Known, asked: StatsAsked) => expectedOfCountry(seen, asked, "DE") },
  { name: "summary", form: ({ seen, tags }: Known, asked: StatsAsked) => expectedSummary(seen, tags, asked) },
].map((stats) => ({
  ...stats,
  path: stats.name === "summary" ? "/v3/summary/tags" : `/v3/stats/${stats.name}`,
}));

export const OPERATIONS: readonly Operation[] = [
  {
    name: "community lookup",
    showsObservations: true,
    ask(setting) {
      const { ip, is } = perhapsAddress(setting.random);
      const url = `/v3/community/${ip}${inQuery(labelsIn(randomLabels(setting.random)))}`;
      // An invalid address is a 400 even with an unknown key.
      if (!is) return { url, sees: () => false, answer: () => error(400) };
      return withVisibility(setting, { url }, GLOBAL, (known) => expectedCommunity(ip, known));
    },
  },
  {
    name: "tag activity",
    showsObservations: true,
    ask(setting) {
      const { random, asker, now } = setting;
      const tag = random.pick(setting.tags);
      const labels = randomLabels(random);
      const days = random.pick([1, 2, 10, 11, 30, 90, random.int(1, 90)]);
      const hours = random.pick([1, 24, 168, random.int(1, 168)]);
      const includeIps = random.chance(0.5);
      const mistake = random.chance(0.05) ? random.pick(["days", "granularity", "include_ips"]) : undefined;
      const id = random.chance(0.03) ? "no-uuid" : random.chance(0.03) ? tag.id.replace(/^.{8}/, "00000000") : tag.id;
      const query = {
        days: String(days),
        granularity: `${hours}h`,
        include_ips: String(includeIps),
        ...labelsIn(labels),
      };
      const url = `/v3/tags/${id}/activity${inQuery({ ...query, ...(mistake === undefined ? {} : { [mistake]: "0x" }) })}`;
      const asked = { tag, days: Math.min(days, asker.reach), hours, includeIps, now };
      const earlier = id === "no-uuid" || mistake !== undefined ? 400 : undefined;
      const later = id === tag.id ? undefined : 404;
      return withVisibility(setting, { url, earlier, later }, visibilityOf("tag-activity", labels, asker), (known) => {
        const oracle = createOracle(known.seen, known.tags, (ip) => known.actorOf(ip) !== undefined);
        return ok(expectedActivity(oracle, { ...asked, datasets: ["global", "community", "personal"] }));
      });
    },
  },
  ...STATS.map(({ name, path, form }) => ({
    name,
    showsObservations: true,
    ask(setting: Setting) {
      const { random, asker, now } = setting;
      const labels = randomLabels(random);
      const days = random.pick([1, 2, 7]);
      const mistake = random.chance(0.05);
      const url = `${path}${inQuery({ days: mistake ? "0" : String(days), ...labelsIn(labels) })}`;
      const datasets = ["global", "community", "personal"];
      const asked = { days: Math.min(days, asker.reach), datasets, now, limit: 50, sort: "trending" };
      const earlier = mistake ? 400 : undefined;
      return withVisibility(setting, { url, earlier }, visibilityOf("tag-activity", labels, asker), (known) =>
        ok(form(known, asked)),
      );
    },
  })),
  {
    name: "one address",
    showsObservations: true,
    ask(setting) {
      const { random, asker } = setting;
      const { ip, is } = perhapsAddress(random);
      const labels = randomLabels(random);
      const quick = random.chance(0.3);
      const url = `/v3/ip/${ip}${inQuery({ ...(quick ? { quick: "true" } : {}), ...labelsIn(labels) })}`;
      const visibility = visibilityOf("ip", labels, asker);
      return withVisibility(setting, { url, earlier: is ? undefined : 400 }, visibility, (known) => {
        const form = quick ? expectedQuick : expectedFull;
        return ok({ ...form(ip, seenBy(visibility, known)), request_metadata: { restricted_fields: [] } });
      });
    },
  },
  {
    name: "many addresses",
    showsObservations: true,
    ask(setting) {
      const { random, asker } = setting;
      const ips = Array.from({ length: random.int(1, 25) }, () => perhapsAddress(random).ip);
      const labels = randomLabels(random);
      const quick = random.chance(0.4);
      const url = `/v3/ip${inQuery({ quick: String(quick), ...labelsIn(labels) })}`;
      const visibility = visibilityOf("ip", labels, asker);
      return withVisibility(setting, { url, payload: { ips } }, visibility, (everything) => {
        const known = seenBy(visibility, everything);
        const once = [...new Set(ips)];
        const form = quick ? expectedQuick : expectedFull;
        const missing = once.filter((ip) => !isFound(ip, known));
        return ok({
          data: once.filter((ip) => isFound(ip, known)).map((ip) => form(ip, known)),
          request_metadata: { restricted_fields: [], message: "", ips_not_found: missing },
        });
      });
    },
  },
  ...TIMELINE_FIELDS.map((field) => ({
    name: `timeline of ${field}`,
    showsObservations: true,
    ask(setting: Setting) {
      const { random, asker, now } = setting;
      const { ip, is } = perhapsAddress(random);
      const labels = randomLabels(random);
      const days = random.pick([1, 10, 30, 90, random.int(1, 90)]);
      const granularity = random.pick(["1h", "1d", "7d", "90d", `${random.int(1, 24)}h`, `${random.int(1, 90)}d`]);
      const url = `/v3/noise/ips/${ip}/timeline${inQuery({ field, days: String(days), granularity, ...labelsIn(labels) })}`;
      const asked = { field, days: Math.min(days, asker.reach), granularity, now };
      const visibility = visibilityOf("timeline", labels, asker);
      return withVisibility(setting, { url, earlier: is ? undefined : 400 }, visibility, (known) =>
        ok(expectedTimeline(ip, asked, known)),
      );
    },
  })),
  ...[
    { name: "tags", form: expectedAddressTags },
    { name: "interaction", form: expectedInteraction },
  ].map(({ name, form }) => ({
    name: `${name} of an address`,
    showsObservations: true,
    ask(setting: Setting) {
      const { random, asker } = setting;
      const { ip, is } = perhapsAddress(random);
      const labels = randomLabels(random);
      const url = `/v3/noise/ips/${ip}/${name}${inQuery(labelsIn(labels))}`;
      const visibility = visibilityOf("timeline", labels, asker);
      return withVisibility(setting, { url, earlier: is ? undefined : 400 }, visibility, (known) =>
        ok(form(ip, known)),
      );
    },
  })),
  {
    name: "network",
    showsObservations: true,
    ask(setting) {
      const { random, asker } = setting;
      const ip = randomAddress(random);
      const length = random.pick([15, 16, 24, 28, 32, random.int(16, 32)]);
      const limit = random.pick([1, 5, 20]);
      const labels = randomLabels(random);
      const url = `/v3/noise/networks/${ip}/${length}${inQuery({ limit: String(limit), ...labelsIn(labels) })}`;
      const visibility = visibilityOf("timeline", labels, asker);
      return withVisibility(setting, { url, earlier: length < 16 ? 400 : undefined }, visibility, (known) =>
        ok(expectedNetwork(ip, length, limit, known)),
      );
    },
  },
  ...[
    { name: "earlier quick lookup", path: "/v2/noise/quick/", form: expectedCode, showsObservations: true },
    { name: "earlier context", path: "/v2/noise/context/", form: expectedFlat, showsObservations: true },
    { name: "earlier riot lookup", path: "/v2/riot/", form: expectedRiot, showsObservations: false },
  ].map(({ name, path, form, showsObservations }) => ({
    name,
    showsObservations,
    ask(setting: Setting) {
      const ip = randomAddress(setting.random);
      const url = `${path}${ip}${inQuery(labelsIn(randomLabels(setting.random)))}`;
      return withVisibility(setting, { url }, GLOBAL, (known) => ok(form(ip, known)));
    },
  })),
  {
    name: "earlier quick lookup of many",
    showsObservations: true,
    ask(setting) {
      const ips = Array.from({ length: setting.random.int(1, 25) }, () => randomAddress(setting.random));
      const url = `/v2/noise/multi/quick${inQuery(labelsIn(randomLabels(setting.random)))}`;
      return withVisibility(setting, { url, payload: { ips } }, GLOBAL, (known) =>
        ok([...new Set(ips)].map((ip) => expectedCode(ip, known))),
      );
    },
  },
  ...[
    { name: "tag list", url: "/v3/tags", member: "tags" },
    { name: "earlier tag list", url: "/v2/meta/metadata", member: "metadata" },
  ].map(({ name, url, member }) => ({
    name,
    showsObservations: false,
    ask: (setting: Setting) =>
      withVisibility(
        setting,
        { url: `${url}${inQuery(labelsIn(randomLabels(setting.random)))}` },
        GLOBAL,
        ({ tags }) => {
          const inOrder = [...tags].sort((a, b) => (a.slug < b.slug ? -1 : 1));
          return ok({ [member]: inOrder.map(({ related: _related, ...tag }) => ({ ...tag, related_tags: [] })) });
        },
      ),
  })),
];

/** A question to an operation. */
export function makeQuestion(operation: Operation, setting: Setting): Question {
  return { asker: setting.asker, ...operation.ask(setting) };
}
