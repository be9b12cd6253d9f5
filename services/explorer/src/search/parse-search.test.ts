import { expect, test } from "vitest";
import { readList } from "./list-link.ts";
import { parseSearch } from "./parse-search.ts";

test("an address, a network and a CVE lead to their pages", () => {
  expect(parseSearch(" 45[.]0[.]0[.]1\t")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.1/32")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.0 / 24")).toEqual({ path: "/networks/45.0.0.0/24" });
  expect(parseSearch("10.0.0.1")).toEqual({ path: "/ip/10.0.0.1" });
  expect(parseSearch("cve-2024-3094 ")).toEqual({ path: "/tags?cve=CVE-2024-3094" });
});

test.each([
  ["AS4134", "/asns/AS4134"],
  [" asn 4134 ", "/asns/AS4134"],
  ["Vietnam", "/countries/VN"],
  ["vn", "/countries/VN"],
  ["45.0.0.0/8", "/search?query=ip%3A45.0.0.0%2F8"],
  ["China Telecom", "/search?query=China+Telecom"],
  ["ssh scanner", "/search?query=ssh+scanner"],
  ["malicious", "/search?query=malicious"],
  [
    "6734f37431670b3ab4292b8f60f29984",
    "/search?query=ja3%3A6734f37431670b3ab4292b8f60f29984+OR+hassh%3A6734f37431670b3ab4292b8f60f29984",
  ],
  ["t13d1516h2_8daaf6152771_02713d6af862", "/search?query=ja4%3At13d1516h2_8daaf6152771_02713d6af862"],
  ["mirai port:23", "/search?query=mirai+port%3A23"],
  ["not petya", "/search?query=%22not+petya%22"],
  ["<script>", "/search?query=%22%3Cscript%3E%22"],
  ["example.org:80", "/search?query=%22example.org%3A80%22"],
])("the box finds what the search finds: %s", (text, path) => {
  expect(parseSearch(text)).toEqual({ path });
});

test("what cannot be searched is answered in words", () => {
  expect(parseSearch("2001:db8::1")).toEqual({ message: expect.stringContaining("only IPv4") });
  expect(parseSearch("")).toEqual({ message: expect.stringContaining("Enter an address") });
});

/** What the page of a search's result reads again. */
function listOf(text: string) {
  const result = parseSearch(text);
  if ("message" in result) throw new Error(result.message);
  const { hash, pathname } = new URL(result.path, "http://localhost");
  const state = result.state ?? null;
  return {
    pathname,
    hash,
    inHistory: result.state,
    list: readList({ state }, { hash }),
    inOtherTab: readList({ state: null }, { hash }),
  };
}

test("a list is in the fragment of its page's URL, which no server sees, and everything in it comes back", () => {
  const { pathname, hash, list, inHistory } = listOf(
    "45.0.0.1\n45[.]0[.]0[.]2\n10.0.0.1\n2001:db8::1\nüber#%41\n45.0.0.0/24",
  );
  expect([pathname, inHistory]).toEqual(["/addresses", undefined]);
  expect(hash).toContain("#45.0.0.1,45.0.0.2,10.0.0.1,");
  expect(list?.map(({ kind }) => kind)).toEqual([
    ...["address", "address", "not-routable", "ipv6", "malformed", "network"],
  ]);
});

test("a list too long for a link stays in its tab's history, and its link says so elsewhere", () => {
  const ips = Array.from({ length: 10_000 }, (_, n) => `45.1.${n >> 8}.${n & 255}`);
  const { hash, list, inOtherTab } = listOf(ips.join("\n"));
  expect(hash.length).toBeLessThan(60);
  expect(list?.map(({ text }) => text)).toEqual(ips);
  expect(inOtherTab).toBeUndefined();
});

test("a link that was cut or has no list is no error", () => {
  expect(readList({ state: null }, { hash: "" })).toEqual([]);
  expect(readList({ state: null }, { hash: "#45.0.0.1,45.0.0.2%E" })?.[0]).toEqual({
    text: "45.0.0.1",
    kind: "address",
  });
});

test.each([
  ["tags:mirai port:23", "/search?query=tags%3Amirai+port%3A23"],
  ["tags: SSH Bruteforcer last_seen:7d", "/search?query=tags%3A+SSH+Bruteforcer+last_seen%3A7d"],
  [" NOT cve:*", "/search?query=NOT+cve%3A*"],
  ["-(asn:4134)", "/search?query=-%28asn%3A4134%29"],
])("a query of the search language leads to its matches: %s", (text, path) => {
  expect(parseSearch(text)).toEqual({ path });
});

test.each(["https://port.example/a", "host: 45.0.0.1 port:22"])("no query: %s", (text) => {
  expect(parseSearch(text)).not.toMatchObject({ path: expect.stringMatching(/^\/search/) });
});
