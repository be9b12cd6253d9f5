import { expect, test } from "vitest";
import { PORT_TAGS, tagsForPort } from "./port-tags.ts";

test.each(["tcp", "udp", "sctp"] as const)(
  "every %s port gives just the tags that the table has for it",
  (transport) => {
    for (let port = 0; port <= 65_535; port++) {
      const listed = PORT_TAGS.filter((entry) => entry.port === port && entry.transport === transport);
      if (listed.length > 0 || tagsForPort(transport, port).length > 0)
        expect([port, ...tagsForPort(transport, port)]).toEqual([port, ...listed.map(({ slug }) => slug)]);
    }
  },
);

test("every port of the table is a valid port, and none has a tag twice", () => {
  const entries = PORT_TAGS.map(({ transport, port, slug }) => `${transport}/${port} ${slug}`);
  expect(new Set(entries).size).toBe(entries.length);
  expect(PORT_TAGS.filter(({ port }) => !Number.isInteger(port) || port < 1 || port > 65_535)).toEqual([]);
});

test.each([
  ["tcp", 22, "ssh-scanner"],
  ["tcp", 2323, "telnet-scanner"],
  ["tcp", 445, "smb-scanner"],
  ["udp", 1434, "mssql-browser-scanner"],
  ["tcp", 1434, "mssql-scanner"],
] as const)("%s port %i gives %s", (transport, port, slug) => {
  expect(tagsForPort(transport, port)).toEqual([slug]);
});

test("ICMP has no ports: whatever stands in their place, it gets the same tag", () => {
  expect([undefined, 0, 22].map((port) => tagsForPort("icmp", port))).toEqual([
    ["icmp-ping"],
    ["icmp-ping"],
    ["icmp-ping"],
  ]);
});

test("a packet without a port, or to a port that is not in the table, gets no tag", () => {
  expect(tagsForPort("tcp", undefined)).toEqual([]);
  expect(tagsForPort("tcp", 56_338)).toEqual([]);
});
