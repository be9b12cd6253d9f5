import { expect, test } from "vitest";
import { readList } from "./list-link.ts";
import { parseSearch } from "./parse-search.ts";

test("an address, a network, a tag's name and a CVE lead to their pages", () => {
  expect(parseSearch(" 45[.]0[.]0[.]1\t")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.1/32")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.0 / 24")).toEqual({ path: "/networks/45.0.0.0/24" });
  expect(parseSearch("10.0.0.1")).toEqual({ path: "/ip/10.0.0.1" });
  expect(parseSearch("cve-2024-3094 ")).toEqual({ path: "/tags?cve=CVE-2024-3094" });
  expect(parseSearch("ssh scanner")).toEqual({ path: "/tags?name=ssh+scanner" });
  expect(parseSearch("<script>")).toEqual({ path: "/tags?name=%3Cscript%3E" });
});

test("what cannot be searched is answered in words", () => {
  expect(parseSearch("2001:db8::1")).toEqual({ message: expect.stringContaining("only IPv4") });
  expect(parseSearch("45.0.0.0/15")).toEqual({ message: "Only networks from /16 to /32 are listed." });
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
  [" NOT cve:*", "/search?query=NOT+cve%3A*"],
  ["-(asn:4134)", "/search?query=-%28asn%3A4134%29"],
])("a query of the search language leads to its matches: %s", (text, path) => {
  expect(parseSearch(text)).toEqual({ path });
});

test.each(["https://port.example/a", "example.org:80", "host: 45.0.0.1 port:22"])("no query: %s", (text) => {
  expect(parseSearch(text)).not.toMatchObject({ path: expect.stringMatching(/^\/search/) });
});
