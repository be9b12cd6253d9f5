import type { todaySchema } from "@noisefloor/query/today/operation.ts";
import type { z } from "zod";

type Today = z.output<typeof todaySchema>;
type Section = {
  readonly heading: string;
  /** How a summary counts its entries: one, and several. */
  readonly counted: readonly [one: string, many: string];
  readonly count: number;
  readonly entries: readonly { readonly text: string; readonly link: string }[];
};
const UNDELIVERED = ["undelivered event", "undelivered events"] as const;
/** Makes a text that attackers may have written harmless. */
type ShowText = (text: string) => string;

/** What is new, as lines for people: what asks for action first, and what there is none of in one line. */
export function formatToday(news: Today, show: ShowText): string[] {
  const { addresses, metadata, events: { undelivered = 0 } = {} } = news;
  const { seen, new: fresh } = addresses;
  const sections = sectionsOf(news, show);
  const without = sections.filter(({ count }) => count === 0).map(({ counted: [, many] }) => many);
  const never = metadata.has_yesterday ? `, ${formatCount(fresh.count)} of them never before` : "";
  return [
    `What is new since yesterday: ${minute(metadata.start_date)} to ${minute(metadata.end_date)} UTC`,
    "",
    `${plural(seen.count, ["address", "addresses"])} ${seen.count === 1 ? "was" : "were"} seen${never}.`,
    ...(metadata.has_yesterday && fresh.count > 0 ? [`  ${fresh.search.link}`] : []),
    ...sections.flatMap(toLines),
    ...(undelivered === 0 ? [] : ["", `${plural(undelivered, UNDELIVERED)}: see the deliveries of your watches.`]),
    ...(without.length === 0 ? [] : ["", `None: ${without.join(", ")}.`]),
    ...(metadata.has_yesterday ? [] : ["", "Nothing can be called new yet: no observation is older than a day."]),
  ];
}

/** The same in one line: what there is some of. */
export function summarizeToday(news: Today): string {
  const undelivered = { count: news.events?.undelivered ?? 0, counted: UNDELIVERED };
  const some = [...sectionsOf(news, (text) => text), undelivered].filter(({ count }) => count > 0);
  return some.length === 0
    ? "nothing new since yesterday"
    : some.map(({ count, counted }) => plural(count, counted)).join(", ");
}

function toLines({ heading, count, entries }: Section): string[] {
  if (count === 0) return [];
  const more = count - entries.length;
  return [
    "",
    `${heading}: ${formatCount(count)}`,
    ...entries.flatMap(({ text, link }) => [`  ${text}`, `    ${link}`]),
    ...(more > 0 ? [`  and ${formatCount(more)} more`] : []),
  ];
}

function sectionsOf(news: Today, show: ShowText): Section[] {
  const section = <Entry extends { readonly search: { readonly link: string } } | { readonly link: string }>(
    heading: string,
    counted: Section["counted"],
    list: { readonly count: number; readonly entries: readonly Entry[] } | undefined,
    textOf: (entry: Entry) => string,
  ): Section[] =>
    list === undefined
      ? []
      : [
          {
            ...{ heading, counted, count: list.count },
            entries: list.entries.map((entry) => ({
              text: textOf(entry),
              link: "link" in entry ? entry.link : entry.search.link,
            })),
          },
        ];
  const having = (what: string, addresses: number) => `${what}: ${plural(addresses, ["address", "addresses"])}`;
  const ofYesterday = news.metadata.has_yesterday
    ? [
        ...section("Rising tags", ["rising tag", "rising tags"], news.rising_tags, (tag) => {
          const { median, low, high } = tag.expected;
          const [usual, least, most] = [median, low, high].map((count) => formatCount(Math.round(count)));
          return `${having(show(tag.name), tag.active_ips)}, usually ${usual} (${least} to ${most})`;
        }),
        ...section("New tags", ["new tag", "new tags"], news.new_tags, (tag) => having(show(tag.name), tag.active_ips)),
        ...section("New HTTP paths", ["new path", "new paths"], news.new_paths, ({ path, active_ips }) =>
          having(show(path), active_ips),
        ),
        ...section("New CVEs", ["new CVE", "new CVEs"], news.new_cves, ({ cve, active_ips }) =>
          having(cve, active_ips),
        ),
      ]
    : [];
  return [
    ...section(
      "Own addresses that scan",
      ["own address that scans", "own addresses that scan"],
      news.own_addresses,
      ({ ip, network, note, classification, last_seen }) =>
        `${ip}, ${classification}, of ${network}${note === "" ? "" : ` (${show(note)})`}, last seen ${minute(last_seen)}`,
    ),
    ...section(
      "Silent sensors",
      ["silent sensor", "silent sensors"],
      news.silent_sensors,
      ({ name, last_seen }) => `${show(name)}, last seen ${minute(last_seen)}`,
    ),
    ...section("Feeds that grew or shrank", ["changed feed", "changed feeds"], news.feeds, (feed) => {
      const fell = feed.fell_from === 0 ? "" : ", fell";
      return `${having(feed.name, feed.count)}, ${formatCount(feed.previous_count)} a day before${fell}`;
    }),
    ...section(
      "Events of watches",
      ["event of watches", "events of watches"],
      news.events,
      ({ watch, summary, detected_at }) => `${minute(detected_at)} ${show(watch.name)}: ${show(summary)}`,
    ),
    ...ofYesterday,
  ];
}

const numbers = new Intl.NumberFormat("en");
const formatCount = (value: number) => numbers.format(value);
const plural = (value: number, [one, many]: readonly [string, string]) =>
  `${formatCount(value)} ${value === 1 ? one : many}`;
/** `2026-11-20T14:00:00Z` as `2026-11-20 14:00`. */
const minute = (timestamp: string) => timestamp.slice(0, 16).replace("T", " ");
