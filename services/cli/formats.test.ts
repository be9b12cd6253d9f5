import { readSettings } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { mapsAlong, readAuto } from "../../test/support/ingest/field-maps.ts";
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

test("the zone of all others moves no format whose program writes UTC", async () => {
  const all = decodeOf({ SENSOR_TIME_ZONES: "*=America/New_York" });
  const named = decodeOf({ SENSOR_TIME_ZONES: "*=America/New_York,heralding-auth=Europe/Berlin,dionaea=Asia/Tokyo" });
  const login = "2026-11-20 12:00:00.5,03fa,ac28,45.83.64.21,42191,10.0.0.5,21,ftp,example,x,";
  const records = [
    '{"connection":{"protocol":"mssqld","transport":"tcp","type":"accept"},"src_ip":"45.83.64.4","timestamp":"2026-11-20T12:00:00.5"}',
    '{"session_id":"s","num_auth_attempts":0,"source_ip":"45.83.64.5","timestamp":"2026-11-20 12:00:00.5"}',
    '{"data_type":"modbus","sensorid":"c","src_ip":"45.83.64.6","id":"1","timestamp":"2026-11-20T12:00:00.5"}',
    '{"peer":{"ip":"45.83.64.7"},"path":"/","method":"GET","timestamp":"2026-11-20T12:00:00.5"}',
    login,
  ];
  for (const record of records) {
    expect((await readAuto(record, mapsAlong(), all))[0]?.value).toHaveProperty(
      "observed_at",
      "2026-11-20T12:00:00.5Z",
    );
  }
  const timesOf = async (record = "") => (await readAuto(record, mapsAlong(), named))[0]?.value;
  expect(await timesOf(login)).toHaveProperty("observed_at", "2026-11-20T11:00:00.5Z");
  expect(await timesOf(records[0])).toHaveProperty("observed_at", "2026-11-20T03:00:00.5Z");
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
