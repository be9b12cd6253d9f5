import type { NetworkList } from "@noisefloor/clickhouse/networks/networks.ts";
import { lastAddress, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { AddressFacts } from "@noisefloor/ingest/rows/enrichment/facts.ts";
import { mix, pick, type Random, weightedPick } from "../random.ts";
import type { Content } from "./content.ts";
import type { Source } from "./sources.ts";

type Operator = {
  /** Its list among the starter networks. */
  readonly list: string;
  /** Per mille of all sources in public honeypot logs, where it is in them. */
  readonly share: number;
  readonly agent?: string;
  /** The name of a host; dashes are its address, number differs between its hosts. */
  readonly rdns?: (dashes: string, number: number) => string;
  /** It reads pages and connects to nothing but the web. */
  readonly isCrawler?: true;
};

const OPERATORS: readonly Operator[] = [
  {
    ...{ list: "googlebot", share: 12, isCrawler: true },
    agent: "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    rdns: (dashes) => `crawl-${dashes}.googlebot.com`,
  },
  {
    ...{ list: "bingbot", share: 8, isCrawler: true },
    agent: "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    rdns: (dashes) => `msnbot-${dashes}.search.msn.com`,
  },
  {
    ...{ list: "yandex", share: 4, isCrawler: true },
    agent: "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    rdns: (dashes) => `${dashes}.spider.yandex.com`,
  },
  {
    ...{ list: "apple", share: 2, isCrawler: true },
    agent: "Mozilla/5.0 (compatible; Applebot/0.1; +http://www.apple.com/go/applebot)",
    rdns: (dashes) => `${dashes}.applebot.apple.com`,
  },
  { list: "internet-archive", share: 1, isCrawler: true, agent: "Mozilla/5.0 (compatible; archive.org_bot)" },
  { list: "driftnet-scanning", share: 32, agent: "Mozilla/5.0 (compatible; InternetMeasurement/1.0)" },
  {
    ...{ list: "censys-scanning", share: 22 },
    agent: "Mozilla/5.0 (compatible; CensysInspect/1.1; +https://about.censys.io/)",
    rdns: (_dashes, number) => `scanner-${10 + (number % 20)}.ch1.censys-scanner.com`,
  },
  { list: "shadowserver", share: 11, rdns: (_dashes, number) => `scan-${number % 60}.shadowserver.org` },
  { list: "shodan-scanning", share: 4, rdns: (_dashes, number) => `census${1 + (number % 12)}.shodan.io` },
  { list: "palo-alto-networks-cortex-xpanse", share: 8 },
  { list: "rapid7-nt-scanning", share: 2, rdns: (_dashes, number) => `scanner${1 + (number % 9)}.labs.rapid7.com` },
  { list: "onyphe-scanner", share: 3 },
  { list: "alphastrike-scanning", share: 2 },
  { list: "umich-cse-connection-attempts", share: 2 },
  { list: "rwth-aachen-scanning", share: 1 },
];

const PORTS = [
  443, 80, 22, 8080, 21, 25, 3389, 5900, 502, 8443, 3306, 445, 23, 6379, 9200, 2375, 5060, 27017, 1911, 102,
];
const PAGES = ["/robots.txt", "/", "/sitemap.xml", "/index.html", "/favicon.ico", "/about", "/products?page=2"];
const HEADERS = ["Host", "User-Agent", "Accept", "Accept-Encoding", "From"];
/** Hosts of an operator: few networks, of which the first hosts do most. */
const HOSTS = 60;

export type CrawlersOptions = {
  readonly seed: number;
  readonly lists: readonly NetworkList[];
  readonly factsOf: (ip: string) => AddressFacts;
};

/** Draws the benign: search engines, and those who survey the Internet and say so. */
export function openCrawlers({ seed, lists, factsOf }: CrawlersOptions): (random: Random) => Source {
  const operators = OPERATORS.flatMap((operator) => {
    const networks = lists.find(({ listId }) => listId === operator.list)?.networks ?? [];
    if (networks.length === 0) return [];
    const contents = operator.isCrawler === true ? pagesFor(operator.agent) : portsFor(operator.agent);
    const hosts = Array.from({ length: HOSTS }, (_, index): Source => {
      const number = mix(seed, index, operator.share, operator.list.length);
      const network = pick(networks, number / 2 ** 32);
      const size = lastAddress(network) - network.first + 1;
      const address = network.first + (size === 1 ? 0 : mix(number) % size);
      const ip = numberToIpv4(address);
      const rdns = operator.rdns?.(ip.replaceAll(".", "-"), number);
      const { country } = factsOf(ip);
      return { ip, address, country, number, contents, isZmap: false, rdns, rhythm: 0.05, hoursAhead: 0 };
    });
    return [[hosts, operator.share] as const];
  });
  const drawHosts = weightedPick(operators);
  return (random) => pick(drawHosts(random()), random() ** 2);
}

function pagesFor(agent: string | undefined): Content[] {
  return PAGES.map((page, index) => {
    const [path, query] = page.split("?");
    const http = { method: "GET", host: "www.example", path, user_agent: agent, headers: HEADERS };
    const more = { ...(query !== undefined && { query }), ...(index > 2 && { referer: "https://www.example/" }) };
    return {
      ...{ transport: "tcp" as const, destination_port: index % 2 === 0 ? 443 : 80, application: "http" },
      http: { ...http, ...more },
    };
  });
}

function portsFor(agent: string | undefined): Content[] {
  return PORTS.map((destination_port): Content => {
    const probe = { transport: "tcp" as const, destination_port };
    const isWeb = [443, 80, 8080, 8443].includes(destination_port);
    if (!isWeb || agent === undefined) return probe;
    return { ...probe, application: "http", http: { method: "GET", path: "/", user_agent: agent, headers: HEADERS } };
  });
}
