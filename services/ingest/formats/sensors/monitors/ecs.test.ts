import { expect, test } from "vitest";
import { readContent } from "../../../../../test/support/ingest/decode.ts";

type Members = Readonly<Record<string, unknown>>;

const record = (members: Members): Members => ({
  "@timestamp": "2026-11-20T13:00:00.100Z",
  source: { ip: "45.83.64.12", port: 4_000 },
  destination: { ip: "198.51.100.7", port: 80 },
  agent: { name: "z1" },
  ...members,
});
const decode = async (one: Members) => (await readContent(JSON.stringify(one), "ecs"))[0];

test.each<[members: Members, reason: string]>([
  [{ network: { transport: "tcp", direction: "outbound" } }, "own-traffic"],
  [{ network: { direction: "egress" } }, "own-traffic"],
  [{ network: { direction: "internal" } }, "own-traffic"],
  [{ zeek: { connection: { local_orig: true } } }, "own-traffic"],
  [{ network: { transport: "icmp" }, icmp: { type: 3 } }, "icmp-error"],
  [{ network: { transport: "icmp" }, suricata: { eve: { icmp_type: 0 } } }, "answer"],
  [{ iptables: { tcp: { flags: ["SYN", "ACK"] } } }, "answer"],
  [{ iptables: { tcp: { flags: ["ACK", "FIN"] } } }, "answer"],
  [{ pfsense: { tcp: { flags: "RA" } } }, "answer"],
  [{ zeek: { connection: { state: "OTH", history: "^h" } } }, "answer"],
  [{ source: { ip: "45.83.64.12", port: 53 }, dns: { type: "answer" } }, "answer"],
])("%j is ignored as %s", async (members, reason) => {
  expect(await decode(record(members))).toMatchObject({ ignored: reason });
});

test.each<[members: Members]>([
  [{ network: { direction: "inbound" } }],
  [{ network: { direction: "external" } }],
  [{ network: { transport: "icmp" }, icmp: { type: 8 } }],
  [{ iptables: { tcp: { flags: ["SYN"] } } }],
  [{ pfsense: { tcp: { flags: "S" } } }],
  [{ zeek: { connection: { state: "SF", history: "ShADadFf" } } }],
  [{ dns: { type: "answer" } }],
])("%j counts", async (members) => {
  expect((await decode(record(members)))?.value).toMatchObject({ source_ip: "45.83.64.12" });
});

test.each<[what: string, members: Members]>([
  ["zeek.session_id names it", { zeek: { session_id: "CfU2" } }],
  ["the package is Zeek's", {}],
])(
  "an event.id that is a connection's joins its records, and none replaces another, where %s",
  async (_what, members) => {
    const request = await decode(
      record({ event: { id: "CfU2", dataset: "zeek.http" }, url: { original: "/.env" }, ...members }),
    );
    const connection = await decode(record({ event: { id: "CfU2", dataset: "zeek.connection" }, ...members }));
    expect(request?.value).toMatchObject({ session_id: "CfU2", http: { path: "/.env" } });
    expect(connection?.value).toMatchObject({ session_id: "CfU2" });
    const ids = [request, connection].map((one) => JSON.stringify(one?.value).match(/raw:[0-9a-f]{32}/)?.[0]);
    expect(new Set(ids).size).toBe(2);
  },
);

test("a flow counts when it began", async () => {
  const flow = record({ event: { start: "2026-11-20T12:00:00Z", dataset: "suricata.eve" } });
  expect((await decode(flow))?.value).toMatchObject({ observed_at: "2026-11-20T12:00:00Z" });
});
