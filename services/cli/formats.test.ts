import { readSettings } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { readSensorFormats } from "./formats.ts";

const decodeOf = (env: Record<string, string>) => readSensorFormats(readSettings(env)).decode;

test("the zone of a sensor wins over that of its format, and that over all others'", () => {
  const { timeZoneOf } = decodeOf({ SENSOR_TIME_ZONES: "cellar=Europe/Berlin,dionaea=Asia/Tokyo,*=America/New_York" });
  const noon = Date.parse("2026-11-27T12:00:00Z");
  const hoursOf = (sensor: string, format: string) =>
    (noon - (timeZoneOf?.(sensor, format)?.(noon) ?? noon)) / 3_600_000;
  expect([hoursOf("cellar", "dionaea"), hoursOf("attic", "dionaea"), hoursOf("attic", "netfilter")]).toEqual([
    1, 9, -5,
  ]);
  expect(decodeOf({}).timeZoneOf?.("cellar", "dionaea")).toBeUndefined();
});

test("an own address is known in every spelling", () => {
  const { isOwnAddress } = decodeOf({ OWN_ADDRESSES: "203.0.113.0/24,2001:db8::/32" });
  const own = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107", "203.0.113.7:22", "[2001:db8::1]:22"];
  expect(own.map(isOwnAddress)).toEqual(own.map(() => true));
  expect(["::203.0.113.7", "203.0.114.7:22", "no address"].map(isOwnAddress)).toEqual([false, false, false]);
});

test("packets that were let in count only by the setting", () => {
  expect(decodeOf({}).countsAccepted).toBe(false);
  expect(decodeOf({ COUNT_ACCEPTED_PACKETS: "true" }).countsAccepted).toBe(true);
});
