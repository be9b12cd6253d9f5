import { expect, test } from "vitest";
import { validateObservation } from "./observation.ts";

const NOW = Date.parse("2026-11-20T14:00:00Z");
const MINIMAL = { observed_at: "2026-11-20T13:59:59Z", sensor_id: "sensor-1", source_ip: "45.83.64.1" };

function detailOf(value: unknown): string {
  const result = validateObservation(value, { now: NOW, retentionDays: 100, right: "everything" });
  return "reason" in result ? result.detail : "accepted";
}

test.each<[Record<string, unknown>, string]>([
  [{ sensor_id: undefined }, "sensor_id: is missing"],
  [{ observed_at: undefined }, "observed_at: must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z"],
  [{ sensor_id: 1 }, "sensor_id: must be a string"],
  [{ sensor_id: null }, "sensor_id: must be a string"],
  [{ sensor_id: "" }, "sensor_id: must have at least 1 character"],
  [{ sensor_id: "x".repeat(129) }, "sensor_id: must have at most 128 characters"],
  [{ sensor_id: "a\nb" }, "sensor_id: must not contain control characters"],
  [{ dataset: "public" }, "dataset: must be one of global, community, personal"],
  [{ transport: 6 }, "transport: must be one of tcp, udp, icmp, sctp"],
  [{ source_port: "22" }, "source_port: must be a number"],
  [{ source_port: 1.5 }, "source_port: must be a whole number"],
  [{ source_port: -1 }, "source_port: must be at least 0"],
  [{ destination_port: 65_536 }, "destination_port: must be at most 65535"],
  [{ asn: 1e300 }, "asn: must be at most 9007199254740991"],
  [{ tags: "worm" }, "tags: must be an array"],
  [{ tags: [1] }, "tags.0: must be a string"],
  [{ tags: Array(65).fill("a") }, "tags: must have at most 64 entries"],
  [{ http: [] }, "http: must be an object"],
  [{ http: { verb: "GET", x: 1 } }, 'unknown fields "http.verb", "http.x" (see noisefloor schema)'],
  [{ metadata: "text" }, "metadata: must be an object"],
  [{ country: "de" }, "country: must be an ISO 3166-1 alpha-2 code"],
  [{ sensor: "s" }, 'unknown field "sensor" (see noisefloor schema)'],
])("%j is rejected with a message of our own", (members, detail) => {
  expect(detailOf({ ...MINIMAL, ...members })).toBe(detail);
});

test("a value that is not an object is rejected as a whole", () => {
  expect(detailOf("text")).toBe("the record: must be an object");
});
