import { expect, test } from "vitest";
import { readSearch } from "./read-search.ts";

test("a search is for an address, a network, a CVE or a part of a tag's name, whatever is around it", () => {
  expect(readSearch(" 45[.]0[.]0[.]1\t")).toEqual({ kind: "address", ip: "45.0.0.1" });
  expect(readSearch("10.0.0.1")).toEqual({ kind: "address", ip: "10.0.0.1" });
  expect(readSearch("45.0.0.0 / 24")).toEqual({ kind: "network", address: "45.0.0.0", length: 24 });
  expect(readSearch("45[.]0[.]77[.]1/016")).toEqual({ kind: "network", address: "45.0.77.1", length: 16 });
  for (const text of [
    "cve-2024-3094 ",
    "(CVE-2024-3094),",
    "CVE\u20112024\u20113094",
    "It exploits CVE-2024-3094 in xz.",
  ])
    expect(readSearch(text)).toEqual({ kind: "cve", cve: "CVE-2024-3094" });
  for (const text of ["ssh scanner", '"ssh scanner",', "\u201cssh scanner\u201d "])
    expect(readSearch(text)).toEqual({ kind: "words", words: "ssh scanner" });
  expect(readSearch("<script>")).toEqual({ kind: "words", words: "<script>" });
});

test("several addresses are a list, also when only one of them can be looked up", () => {
  const list = readSearch("45.0.0.1\n10.0.0.1");
  expect(list.kind === "list" && list.entries.map(({ kind }) => kind)).toEqual(["address", "not-routable"]);
});

test.each([
  ["", /^Enter an address/],
  [" \n", /^Enter an address/],
  ["2001:db8::1", /only IPv4/],
  ["[2001:db8::1]:443", /only IPv4/],
  ["fe80::/10", /only IPv4/],
  ["300.1.1.1/8", /four numbers/],
  ["45.0.0", /four numbers/],
  ["1.2.3.4.5", /four numbers/],
  ["1.2.3.45.6.7.8", /four numbers/],
  ["045.0.0.1", /four numbers/],
  ["45.0.0.0/33", /four numbers/],
  ["CVE-2024-3094 CVE-2021-44228", /one CVE/],
  ["https://host.example/path", /No IPv4 address/],
  ["a log\nwithout any", /No IPv4 address/],
  ["word ".repeat(30), /No IPv4 address/],
])("%j cannot be searched for, and the search says why", (text, reason) => {
  const search = readSearch(text);
  expect(search).toEqual({ kind: "nothing", reason: expect.stringMatching(reason) });
});
