import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { makeChanges, makeList, writeForm } from "../../support/builders/feed.ts";
import { seeded } from "../../support/builders/random.ts";

const text = async (...args: Parameters<typeof writeForm>) => (await writeForm(...args)).toString();
const before = makeList(["1.0.0.1", "9.9.9.9", "223.255.255.254"]);
const after = makeList(["1.0.0.1", "1.0.0.2", "200.0.0.10"]);

test("txt is an address a line in numeric order, changes are lines with + and -", async () => {
  expect(await text("txt", after)).toBe("1.0.0.1\n1.0.0.2\n200.0.0.10\n");
  expect(await text("txt", makeChanges(before, after))).toBe("-9.9.9.9\n-223.255.255.254\n+1.0.0.2\n+200.0.0.10\n");
  expect(await text("txt", makeList([]))).toBe("");
});

test("every address of a long list is written once, in order", async () => {
  const random = seeded(1);
  const addresses = new Set(Array.from({ length: 10_000 }, () => random.int(0, 0xffffffff)));
  const list = makeList(Array.from(addresses, numberToIpv4));
  expect(await text("txt", list)).toBe(`${Array.from(list.addresses, numberToIpv4).join("\n")}\n`);
});

test("csv has a header, tags with spaces, and no formulas", async () => {
  const list = makeList(["1.0.0.1", "1.0.0.2", "1.0.0.3"], {
    "1.0.0.2": {
      organization: '=HYPERLINK("x")',
      tags: [],
      asn: 0,
      country: "",
      classification: "unknown",
      spoofable: true,
    },
    "1.0.0.3": { organization: "Example, Inc." },
  });
  expect(await text("csv", list)).toBe(
    [
      "ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable",
      "1.0.0.1,2026-11-18T08:00:00Z,2026-11-20T13:59:58Z,malicious,mirai ssh-bruteforcer,AS4134,Example Networks,VN,false",
      '1.0.0.2,2026-11-18T08:00:00Z,2026-11-20T13:59:58Z,unknown,,,"\'=HYPERLINK(""x"")",,true',
      '1.0.0.3,2026-11-18T08:00:00Z,2026-11-20T13:59:58Z,malicious,mirai ssh-bruteforcer,AS4134,"Example, Inc.",VN,false',
      "",
    ].join("\r\n"),
  );
  expect((await text("csv", makeChanges(before, after))).split("\r\n")).toEqual([
    "action,ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable",
    "remove,9.9.9.9,,,,,,,,",
    "remove,223.255.255.254,,,,,,,,",
    "add,1.0.0.2,2026-11-18T08:00:00Z,2026-11-20T13:59:58Z,malicious,mirai ssh-bruteforcer,AS4134,Example Networks,VN,false",
    "add,200.0.0.10,2026-11-18T08:00:00Z,2026-11-20T13:59:58Z,malicious,mirai ssh-bruteforcer,AS4134,Example Networks,VN,false",
    "",
  ]);
});

const about = {
  first_seen: "2026-11-18T08:00:00Z",
  last_seen: "2026-11-20T13:59:58Z",
  classification: "malicious",
  tags: ["mirai", "ssh-bruteforcer"],
  asn: "AS4134",
  organization: "Example Networks",
  country: "VN",
  spoofable: false,
};

test("ndjson is an object a line, changes have an action", async () => {
  const lines = async (...args: Parameters<typeof writeForm>) =>
    (await text(...args)).split("\n").flatMap((line): unknown[] => (line === "" ? [] : [JSON.parse(line)]));
  expect(await lines("ndjson", after)).toEqual([
    { ip: "1.0.0.1", ...about },
    { ip: "1.0.0.2", ...about },
    { ip: "200.0.0.10", ...about },
  ]);
  expect(await lines("ndjson", makeChanges(before, after))).toEqual([
    { action: "remove", ip: "9.9.9.9" },
    { action: "remove", ip: "223.255.255.254" },
    { action: "add", ip: "1.0.0.2", ...about },
    { action: "add", ip: "200.0.0.10", ...about },
  ]);
});

test("json is one object, with all items or with what was added and removed", async () => {
  const feed = { feed: "recent", cursor: "cursor-2", refreshed_at: "2026-11-20T14:05:00Z", truncated: false };
  const empty = makeList([]);
  expect(JSON.parse(await text("json", empty))).toEqual({ ...feed, count: 0, items: [] });
  expect(JSON.parse(await text("json", after))).toEqual({
    ...feed,
    count: 3,
    items: ["1.0.0.1", "1.0.0.2", "200.0.0.10"].map((ip) => ({ ip, ...about })),
  });
  expect(JSON.parse(await text("json", makeChanges(before, after)))).toEqual({
    ...feed,
    since: "cursor-1",
    count: 3,
    added: ["1.0.0.2", "200.0.0.10"].map((ip) => ({ ip, ...about })),
    removed: [{ ip: "9.9.9.9" }, { ip: "223.255.255.254" }],
  });
  expect(JSON.parse(await text("json", makeChanges(after, after)))).toMatchObject({ added: [], removed: [] });
});
