import { expect, test } from "vitest";
import { noTags } from "../../../test/support/ingest/no-tags.ts";
import { explainRejection } from "../formats/explain-rejection.ts";
import { countReasons } from "./pipeline.ts";
import { validateBatch } from "./validate.ts";

test("a batch without rejections has no reasons to report", () => {
  expect([...countReasons([])]).toEqual([]);
});

test("rejections are counted by their reason, whatever their details say", () => {
  const counts = countReasons([
    { rejection: { reason: "not-json", detail: "one" } },
    { rejection: { reason: "unknown-tag", detail: "two" } },
    { rejection: { reason: "not-json", detail: "three" } },
  ]);
  expect(Object.fromEntries(counts)).toEqual({ "not-json": 2, "unknown-tag": 1 });
});

test("a record of a sensor without its format is rejected with the name of that format, others with their fault", async () => {
  const detailOf = async (sent: object) => {
    const record = { bytes: Buffer.from(JSON.stringify(sent)), fallbackId: "" };
    const { rejected } = await validateBatch([record], {
      catalogue: noTags,
      retentionDays: () => 1,
      right: "shared-datasets",
      now: Date.now,
      explain: explainRejection,
    });
    return rejected.map(({ rejection }) => `${rejection.reason}: ${rejection.detail}`).join();
  };
  const wrong = "observed_at: must be an RFC 3339 date-time with a zone, like 2026-11-20T14:03:09.5Z";
  expect(await detailOf({ eventid: "cowrie.session.connect", src_ip: "45.83.64.20" })).toBe(
    `invalid-observation: the record is in the format cowrie, not in observations: name that format, or auto (${wrong})`,
  );
  expect(await detailOf({ eventid: "other.session.connect" })).toBe(`invalid-observation: ${wrong}`);
});

test("the detail of a sensor's record names a time that cannot be read, and local time where that is likely", async () => {
  const now = Date.parse("2026-11-20T14:00:00Z");
  const detailOf = async (observed_at: string, isZoneless?: true, format = "netfilter") => {
    const value = { observed_at, sensor_id: "fw", source_ip: "45.83.64.20" };
    const record = { bytes: Buffer.from("x"), fallbackId: "", value, format, isZoneless };
    const { rejected } = await validateBatch([record], {
      catalogue: noTags,
      retentionDays: () => 1,
      right: "shared-datasets",
      now: () => now,
      explain: explainRejection,
    });
    return rejected.map(({ rejection }) => rejection.detail).join();
  };
  expect(await detailOf("11/12/2026 13:00:00")).toMatch(
    /^observed_at: cannot read the time "11\/12\/2026 13:00:00": expected RFC 3339/,
  );
  expect(await detailOf("2026-11-20T16:00:00Z", true)).toMatch(/most likely it is local time: .*SENSOR_TIME_ZONES/);
  expect(await detailOf("2026-11-20T16:00:00Z")).not.toContain("local");
  expect(await detailOf("2026-11-25T16:00:00Z", true)).not.toContain("local");
  expect(await detailOf("2026-11-20T15:00:00Z", undefined, "cowrie")).toMatch(/local time: Cowrie .* TZ=UTC/);
  expect(await detailOf("2026-11-25T16:00:00Z", undefined, "cowrie")).not.toContain("local");
});

test("other requests get their turn while many or large records are validated", async () => {
  const turnsDuring = async (count: number, bytes: Buffer) => {
    let turns = 0;
    let isDone = false;
    const turn = () => {
      if (isDone) return;
      turns++;
      setImmediate(turn);
    };
    setImmediate(turn);
    const records = Array.from({ length: count }, () => ({ bytes, fallbackId: "" }));
    const { rejected } = await validateBatch(records, {
      catalogue: noTags,
      retentionDays: () => 1,
      right: "shared-datasets",
      now: Date.now,
      explain: explainRejection,
    });
    isDone = true;
    expect(rejected).toHaveLength(count);
    return turns;
  };
  expect(await turnsDuring(10_000, Buffer.from("1"))).toBeGreaterThanOrEqual(4);
  expect(await turnsDuring(160, Buffer.alloc(64 * 1024, " "))).toBeGreaterThanOrEqual(8);
});
