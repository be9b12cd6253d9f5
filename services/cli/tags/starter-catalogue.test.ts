import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import type { Expression } from "@noisefloor/ingest/tagging/rule.ts";
import { lintFolders } from "@noisefloor/ingest/tagging/rule-files/lint.ts";
import { describe, expect, test } from "vitest";
import { TAGS_DIRECTORY } from "../paths.ts";

const { tags, problems } = await lintFolders([TAGS_DIRECTORY]);
const slugs = new Set(tags.map(({ entry }) => entry.slug));
const tagger = createTagger(tags.flatMap(({ rule }) => rule ?? []));

/** What proves who an address belongs to; everything else can be copied. */
const NETWORK_FIELDS = ["source_ip", "asn", "validated_rdns"];
const PROGRAM_FIELDS = ["user_agent", "ssh_banner", "hassh", "ja3", "ja4"];

/** The fields at least one of which each way to match this expression looks at; a negation proves nothing. */
function fieldsOfEachWay(expression: Expression): ReadonlySet<string>[] {
  if (expression.kind === "clause") return [new Set([expression.key.split("|")[0] ?? ""])];
  if (expression.kind === "not") return [new Set()];
  const parts = expression.parts.map(fieldsOfEachWay);
  if (expression.kind === "or") return parts.flat();
  return parts.reduce(
    (ways, part) => ways.flatMap((way) => part.map((other) => new Set([...way, ...other]))),
    [new Set<string>()],
  );
}

function named(isMeant: (tag: (typeof tags)[number]) => boolean): string[] {
  return tags.filter(isMeant).map(({ entry }) => entry.slug);
}

describe("the starter catalogue", () => {
  test("has no errors and no warnings: related tags exist, and examples and counterexamples hold", () => {
    expect(problems).toEqual([]);
    expect(tags.length).toBeGreaterThan(400);
  });

  test("has a rule for all tags but those that only sensors or address lists can give", () => {
    expect(named(({ rule }) => rule === undefined).toSorted()).toEqual(["research-scanner", "web-crawler"]);
  });

  test("recommends to block only what is malicious", () => {
    expect(named(({ entry }) => entry.recommend_block === true && entry.intention !== "malicious")).toEqual([]);
  });

  test("names a reference for every CVE", () => {
    const references = (slug: string) => tags.find(({ entry }) => entry.slug === slug)?.entry.references ?? [];
    const missing = tags.flatMap(({ entry }) =>
      (entry.cves ?? []).filter((cve) => !references(entry.slug).some((url) => url.endsWith(cve))),
    );
    expect(missing).toEqual([]);
  });

  test("calls an address benign only by its network", () => {
    const isCopyable = (expression: Expression) =>
      fieldsOfEachWay(expression).some((way) => !NETWORK_FIELDS.some((field) => way.has(field)));
    const benign = tags.filter(({ entry, rule }) => entry.intention === "benign" && rule !== undefined);
    expect(benign.length).toBeGreaterThan(5);
    expect(benign.filter(({ rule }) => rule !== undefined && isCopyable(rule.match))).toEqual([]);
  });

  test("calls no address malicious for a program's name alone, nor for a port alone", () => {
    const harmless = new Set([...PROGRAM_FIELDS, "transport", "destination_port", "source_port", "application"]);
    const isHarmless = (expression: Expression) =>
      fieldsOfEachWay(expression).some((way) => [...way].every((field) => harmless.has(field)));
    // These look at what the user agent carries, an injection, not at whose it is.
    const injections = ["apache-log4j-rce-attempt", "joomla-session-injection-attempt", "shellshock-exploit"];
    expect(
      named(
        ({ entry, rule }) => entry.intention === "malicious" && rule !== undefined && isHarmless(rule.match),
      ).toSorted(),
    ).toEqual(injections);
    expect(named(({ entry }) => entry.category === "tool" && entry.intention === "malicious")).toEqual([]);
  });
});

describe("a connection to a port", () => {
  test.each([
    ["tcp", 22, ["ssh-scanner"]],
    ["tcp", 23, ["telnet-scanner"]],
    ["tcp", 445, ["smb-scanner"]],
    ["udp", 5060, ["sip-scanner"]],
    ["tcp", 2375, ["docker-api-scanner"]],
    ["udp", 22, []],
    ["tcp", 50501, []],
  ] as const)("%s %i earns %j", (transport, destination_port, expected) => {
    expect([...tagger.tagsFor({ transport, destination_port })]).toEqual(expected);
  });

  test("earns at most one tag, and never a malicious one", () => {
    const malicious = new Set(named(({ entry }) => entry.intention === "malicious"));
    for (const transport of ["tcp", "udp"] as const) {
      for (let destination_port = 0; destination_port <= 65_535; destination_port += 1) {
        const found = tagger.tagsFor({ transport, destination_port });
        if (found.length > 1 || found.some((slug) => malicious.has(slug))) {
          expect.fail(`${transport} ${destination_port}: ${found.join(", ")}`);
        }
      }
    }
  });

  test("by ICMP earns the same whatever stands in the place of the port", () => {
    expect([...tagger.tagsFor({ transport: "icmp" })]).toEqual(["icmp-ping"]);
    expect([...tagger.tagsFor({ transport: "icmp", destination_port: 22 })]).toEqual(["icmp-ping"]);
  });
});

test("an ordinary visit earns tags without any malice", () => {
  const visit = tagger.tagsFor({
    transport: "tcp",
    destination_port: 443,
    application: "http",
    http: {
      method: "GET",
      path: "/search",
      query: "q=how+to+install+wget+and+curl&page=2",
      user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
      referer: "https://www.example.org/",
      headers: ["host", "user-agent", "accept", "cookie"],
      cookies: ["session"],
    },
  });
  expect([...visit].toSorted()).toEqual(["https-scanner", "web-scanner"]);
  expect([...visit].filter((slug) => !slugs.has(slug))).toEqual([]);
});
