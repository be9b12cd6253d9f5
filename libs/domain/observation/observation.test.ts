import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type RejectionReason, validateObservation } from "./observation.ts";
import { MAX_OBSERVATION_BYTES, observationJsonSchema } from "./schema.ts";

const NOW = Date.parse("2026-11-20T14:00:00Z");
const CRITERIA = { now: NOW, retentionDays: 100, right: "everything" } as const;
const MINIMAL = { observed_at: "2026-11-20T13:59:59Z", sensor_id: "sensor-1", source_ip: "45.83.64.1" };

/** "accepted", or the reason why the minimal observation with these members is rejected. */
function outcomeOf(members: Record<string, unknown>): RejectionReason | "accepted" {
  const result = validateObservation({ ...MINIMAL, ...members }, CRITERIA);
  return "reason" in result ? result.reason : "accepted";
}

function detailOf(value: unknown): string {
  const result = validateObservation(value, CRITERIA);
  return "reason" in result ? result.detail : "accepted";
}

function observedAt(text: string): number | string {
  const result = validateObservation({ ...MINIMAL, observed_at: text }, CRITERIA);
  return "reason" in result ? result.reason : result.observedAt;
}

const characters = (count: number) => "x".repeat(count);
const iso = (time: number) => new Date(time).toISOString();
/** Metadata that takes exactly this many bytes as JSON. */
const metadataOf = (bytes: number) => ({ a: characters(bytes - '{"a":""}'.length) });

describe("a minimal observation", () => {
  test("has time, sensor and source; its dataset is then global and its tags are empty", () => {
    expect(validateObservation(MINIMAL, CRITERIA)).toEqual({
      observation: { ...MINIMAL, dataset: "global", tags: [] },
      observedAt: Date.parse(MINIMAL.observed_at),
      isFilledIn: false,
    });
  });

  test.each(["observed_at", "sensor_id", "source_ip"])("requires %s: the rejection names it", (name) => {
    const { [name]: _, ...rest } = Object.fromEntries(Object.entries(MINIMAL));
    expect(validateObservation(rest, CRITERIA)).toMatchObject({ reason: "invalid-observation" });
    expect(detailOf(rest)).toContain(name);
  });

  test.each([[null], [42], ["text"], [true], [[]], [[MINIMAL]], [undefined], [{}]])("is not %j", (value) => {
    expect(validateObservation(value, CRITERIA)).toMatchObject({ reason: "invalid-observation" });
  });

  test.each(["sensor", "constructor", "__proto__", "Sensor_id"])(
    "with the unknown member %s is rejected; the member is not dropped",
    (name) => {
      const value: unknown = JSON.parse(`{"${name}":1,${JSON.stringify(MINIMAL).slice(1)}`);
      expect(validateObservation(value, CRITERIA)).toMatchObject({ reason: "invalid-observation" });
      expect(detailOf(value)).toContain(name);
    },
  );

  test.each([{ http: { url: "/" } }, { tls: { version: "1.3" } }, { ssh: { key: "x" } }])(
    "with an unknown nested member, as in %j, is rejected as well",
    (members) => {
      expect(outcomeOf(members)).toBe("invalid-observation");
    },
  );
});

/** A text member's path and its maximum length. */
const TEXTS: [name: string, maxLength: number, wrap: (text: string) => Record<string, unknown>][] = [
  ["sensor_id", 128, (sensor_id) => ({ sensor_id })],
  ["observation_id", 128, (observation_id) => ({ observation_id })],
  ["workspace_id", 64, (workspace_id) => ({ dataset: "personal", workspace_id })],
  ["a tag", 128, (tag) => ({ tags: ["mirai", tag] })],
  ["http.method", 32, (method) => ({ http: { method } })],
  ["http.host", 255, (host) => ({ http: { host } })],
  ["http.path", 2048, (path) => ({ http: { path } })],
  ["http.user_agent", 1024, (user_agent) => ({ http: { user_agent } })],
  ["tls.ja3", 64, (ja3) => ({ tls: { ja3 } })],
  ["tls.ja4", 64, (ja4) => ({ tls: { ja4 } })],
  ["ssh.hassh", 64, (hassh) => ({ ssh: { hassh } })],
  ["ssh.banner", 512, (banner) => ({ ssh: { banner } })],
  ["organization", 256, (organization) => ({ organization })],
  ["city", 128, (city) => ({ city })],
  ["rdns", 255, (rdns) => ({ rdns })],
];

describe("limits", () => {
  test.each(TEXTS)("%s may have %i characters, one more is oversize", (_, maxLength, wrap) => {
    expect(outcomeOf(wrap(characters(maxLength)))).toBe("accepted");
    expect(outcomeOf(wrap(characters(maxLength + 1)))).toBe("oversize");
  });

  test("64 tags are accepted, 65 are oversize", () => {
    expect(outcomeOf({ tags: Array.from({ length: 64 }, (_, index) => `t${index}`) })).toBe("accepted");
    expect(outcomeOf({ tags: Array.from({ length: 65 }, (_, index) => `t${index}`) })).toBe("oversize");
  });

  test("metadata may take 8 KiB as JSON, counted in bytes", () => {
    expect(outcomeOf({ metadata: metadataOf(8_192) })).toBe("accepted");
    expect(outcomeOf({ metadata: metadataOf(8_193) })).toBe("oversize");
    expect(outcomeOf({ metadata: { a: "\u00e9".repeat(4_092) } })).toBe("accepted");
    expect(outcomeOf({ metadata: { a: "\u00e9".repeat(4_093) } })).toBe("oversize");
  });

  test.each(["source_port", "destination_port"])("%s is 0 to 65535", (name) => {
    expect([0, 22, 65_535].map((port) => outcomeOf({ [name]: port }))).toEqual(["accepted", "accepted", "accepted"]);
    for (const port of [-1, 65_536, 22.5, "22", null]) expect(outcomeOf({ [name]: port })).toBe("invalid-observation");
  });

  test("asn may be written as sensors write it", () => {
    for (const asn of [14_061, "14061", "AS14061", "as14061"]) {
      expect(validateObservation({ ...MINIMAL, asn }, CRITERIA)).toMatchObject({ observation: { asn: 14_061 } });
    }
  });

  test.each([
    ["application", ["ssh", "epmapper", "http.2"], ["SSH", "", "s h", characters(33)]],
    ["session_id", ["07041be58d34"], ["", "a\nb", characters(129), 7]],
    ["credentials", [[], [{}], [{ username: "root", password: "" }]], [[{ user: "x" }], Array(33).fill({}), "root"]],
    ["login_attempts", [0, 1_000_000], [-1, 1.5, 1_000_001]],
    ["commands", [["uname -a"], Array(64).fill("x")], [Array(65).fill("x"), [characters(1_025)], "uname"]],
    ["urls", [["http://198.51.100.7/x.sh"]], [[characters(2_049)], Array(33).fill("x")]],
    ["payload_sha256", [["0a".repeat(32)]], [["0A".repeat(32)], ["0a"], "0a".repeat(32)]],
    ["labels", [["ET SCAN Zmap User-Agent (zgrab)"]], [[""], [characters(257)], Array(65).fill("x")]],
    ["latitude", [-90, 0, 90], [-91, 91, "1"]],
    ["longitude", [-180, 180], [-181, 181]],
  ])("%s takes %j and not %j", (member, good, bad) => {
    for (const value of good) expect([value, outcomeOf({ [member]: value })]).toEqual([value, "accepted"]);
    for (const value of bad) expect([value, outcomeOf({ [member]: value })]).not.toEqual([value, "accepted"]);
  });

  test("of a request, rules may need the query, the body and the names of header fields and cookies", () => {
    const http = {
      query: "a=1",
      referer: "",
      headers: ["x-api"],
      cookies: ["sid"],
      header_lines: ["X-Api: 1", characters(2_048)],
      body: characters(4_096),
    };
    expect(outcomeOf({ http })).toBe("accepted");
    for (const bad of [
      { body: characters(4_097) },
      { headers: Array(65).fill("a") },
      { cookies: "sid" },
      { header_lines: Array(3).fill(characters(1_400)) },
    ]) {
      expect(outcomeOf({ http: bad })).not.toBe("accepted");
    }
  });

  test("asn is 0 to 4294967295", () => {
    expect([0, 4_294_967_295].map((asn) => outcomeOf({ asn }))).toEqual(["accepted", "accepted"]);
    for (const asn of [-1, 4_294_967_296, "AS4294967296", "AS", "ASN1", "1.5"])
      expect(outcomeOf({ asn })).toBe("invalid-observation");
  });

  test.each([
    { sensor_id: "" },
    { sensor_id: "a\nb" },
    { sensor_id: "a\u0000" },
    { observation_id: "" },
    { observation_id: "a\tb" },
    { tags: [""] },
    { tags: ["a\u007f"] },
    { tags: "mirai" },
    { transport: "TCP" },
    { transport: "gre" },
    { dataset: "everything" },
    { dataset: "" },
    { country: "de" },
    { country: "D" },
    { country: "" },
    { metadata: [] },
    { metadata: "x" },
    { city: null },
    { http: "GET" },
  ])("%j is invalid", (members) => {
    expect(outcomeOf(members)).toBe("invalid-observation");
  });

  test.each(["10.0.0.1", "127.0.0.1", "224.0.0.1", "::1", "8.8.8", "", characters(64)])(
    "source %j is not routable",
    (ip) => {
      expect(outcomeOf({ source_ip: ip })).toBe("source-not-routable");
    },
  );
});

test.each([
  ["2001:db8::1", "is an IPv6 address: IPv6 is not supported"],
  ["::8.8.8.8", "is an IPv6 address: IPv6 is not supported"],
  ["::ffff:8.8.8.8", "is 8.8.8.8 mapped into IPv6: dotted decimal is expected"],
  ["0:0:0:0:0:ffff:808:808", "is 8.8.8.8 mapped into IPv6: dotted decimal is expected"],
  ["8.8.8.8:51234", "has a port behind the address: source_port takes it"],
  ["8.8.8:8:8", "is not a routable IPv4 address"],
  ["host:80", "is not a routable IPv4 address"],
  ["10.0.0.1", "is not a routable IPv4 address"],
])("the source %j %s", (source_ip, problem) => {
  expect(detailOf({ ...MINIMAL, source_ip })).toBe(`source_ip "${source_ip}" ${problem}`);
});

describe("datasets", () => {
  test("personal data names its workspace", () => {
    expect(outcomeOf({ dataset: "personal", workspace_id: "team_A-1" })).toBe("accepted");
    expect(outcomeOf({ dataset: "personal" })).toBe("invalid-observation");
    for (const id of ["", "team a", "team/a", "t\u00e9am"])
      expect(outcomeOf({ dataset: "personal", workspace_id: id })).toBe("invalid-observation");
  });

  test("data in a shared dataset names no workspace", () => {
    for (const members of [{}, { dataset: "global" }, { dataset: "community" }]) {
      expect(outcomeOf(members)).toBe("accepted");
      expect(outcomeOf({ ...members, workspace_id: "team" })).toBe("invalid-observation");
    }
  });

  const teamCriteria = { ...CRITERIA, right: { dataset: "personal", workspaceId: "team" } } as const;

  test("the members left out come from the sender's right, and the result says so", () => {
    const ownScope = { dataset: "personal", workspace_id: "team" };
    for (const members of [{}, { dataset: "personal" }, { workspace_id: "team" }]) {
      expect(validateObservation({ ...MINIMAL, ...members }, teamCriteria)).toMatchObject({
        observation: ownScope,
        isFilledIn: true,
      });
    }
    expect(validateObservation({ ...MINIMAL, ...ownScope }, teamCriteria)).toMatchObject({
      observation: ownScope,
      isFilledIn: false,
    });
  });

  test("the largest observation is still within the limit when the members left out are filled in", () => {
    // Control characters take the most bytes in JSON. Tags are slugs of the catalogue, which are ASCII.
    const long = (count: number) => "\u0001".repeat(count);
    const largest = {
      ...MINIMAL,
      tags: Array.from({ length: 64 }, () => characters(128)),
      http: { method: long(32), host: long(255), path: long(2048), user_agent: long(1024) },
      tls: { ja3: long(64), ja4: long(64) },
      ssh: { hassh: long(64), banner: long(512) },
      organization: long(256),
      city: long(128),
      rdns: long(255),
      metadata: metadataOf(8192),
    };
    const result = validateObservation(largest, teamCriteria);
    expect(result).toMatchObject({ isFilledIn: true });
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(MAX_OBSERVATION_BYTES);
  });

  test("an observation for another scope is not permitted", () => {
    expect(validateObservation({ ...MINIMAL, dataset: "global" }, teamCriteria)).toMatchObject({
      reason: "not-permitted",
    });
    expect(validateObservation(MINIMAL, { ...CRITERIA, right: "shared-datasets" })).toMatchObject({
      isFilledIn: false,
    });
  });
});

describe("time", () => {
  test("a sensor's clock may be up to five minutes ahead", () => {
    expect(outcomeOf({ observed_at: iso(NOW + 300_000) })).toBe("accepted");
    expect(outcomeOf({ observed_at: iso(NOW + 300_001) })).toBe("in-the-future");
  });

  test("an observation at the edge of the retention is accepted, one a millisecond older is not", () => {
    expect(outcomeOf({ observed_at: iso(NOW - 100 * 86_400_000) })).toBe("accepted");
    expect(outcomeOf({ observed_at: iso(NOW - 100 * 86_400_000 - 1) })).toBe("older-than-retention");
  });

  test.each([
    ["2026-11-20T15:30:00+02:00", "2026-11-20T13:30:00Z"],
    ["2026-11-20T08:00:00.250-05:30", "2026-11-20T13:30:00.250Z"],
    ["2026-11-20T13:30:00+00:00", "2026-11-20T13:30:00Z"],
    ["2026-11-20T13:30:00.123456Z", "2026-11-20T13:30:00.123Z"],
  ])("%s is %s", (written, utc) => {
    expect(observedAt(written)).toBe(Date.parse(utc));
  });

  test("a time is the same instant in every zone", () => {
    const zone = fc.record({ sign: fc.constantFrom(1, -1), hours: fc.nat(14), minutes: fc.constantFrom(0, 30, 45) });
    fc.assert(
      fc.property(fc.integer({ min: NOW - 86_400_000, max: NOW }), zone, (time, { sign, hours, minutes }) => {
        const local = iso(time + sign * (hours * 60 + minutes) * 60_000).slice(0, -1);
        const offset = [hours, minutes].map((part) => String(part).padStart(2, "0")).join(":");
        expect(observedAt(`${local}${sign > 0 ? "+" : "-"}${offset}`)).toBe(time);
      }),
    );
  });

  test.each([
    ...["2026-11-20T13:30:00", "2026-11-20 13:30:00Z", "2026-11-20", "2026-11-20T13:30Z", "2026-02-30T00:00:00Z"],
    ...["2026-11-20T24:00:00Z", "2026-11-20T13:60:00Z", "2026-11-20T13:30:00+2", "1795183200", "yesterday", ""],
  ])("%j is no time with a zone", (text) => {
    expect(observedAt(text)).toBe("invalid-observation");
    expect(detailOf({ ...MINIMAL, observed_at: text })).toContain("with a zone");
  });
});

test("the published JSON schema requires the same members and allows no unknown ones", () => {
  const closed = z.object({ additionalProperties: z.literal(false) });
  const observation = closed.extend({
    required: z.array(z.string()),
    properties: z.looseObject({ http: closed, tls: closed, ssh: closed }),
  });
  const { $ref, $defs } = z
    .object({
      $schema: z.literal("https://json-schema.org/draft/2020-12/schema"),
      $ref: z.string(),
      $defs: z.object({ Observation: observation }),
    })
    .parse(observationJsonSchema());
  expect($ref).toBe("#/$defs/Observation");
  expect($defs.Observation.required.toSorted()).toEqual(["observed_at", "source_ip"]);
  expect(Object.keys($defs.Observation.properties)).toEqual(
    expect.arrayContaining(["observed_at", "sensor_id", "source_ip", "dataset", "workspace_id", "tags", "metadata"]),
  );
});

describe("values that ClickHouse or JSON cannot take are rejected", () => {
  test.each([
    ["sensor_id", { sensor_id: "\ud800" }],
    ["http.path", { http: { path: "/\ud83d" } }],
    ["rdns", { rdns: "a\udc00b" }],
    ["tags.0", { tags: ["\ud800"] }],
  ])("half of a surrogate pair in %s", (where, members) => {
    expect(outcomeOf(members)).toBe("invalid-observation");
    expect(detailOf({ ...MINIMAL, ...members })).toContain(where);
  });

  test("whole surrogate pairs are accepted", () => {
    expect(outcomeOf({ http: { path: "/\ud83d\ude80" } })).toBe("accepted");
  });

  test.each([31, 32, 33, 8_000])("metadata nested %i levels deep never throws", (levels) => {
    const nested: unknown = JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(outcomeOf({ metadata: { nested } })).toBe(levels < 32 ? "accepted" : "oversize");
  });

  test("a member called __proto__ in metadata is rejected, not dropped", () => {
    const metadata: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(outcomeOf({ metadata })).toBe("invalid-observation");
  });
});
