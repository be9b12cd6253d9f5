import { readSettings } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { warnOfExposure } from "./exposure.ts";

const KEY = "0123456789abcdef";

/** What is warned of, as the settings that end it. */
function warnings(env: Record<string, string>, isIntakeOpen: boolean): readonly string[] {
  const said: string[] = [];
  const warn = (...words: unknown[]) => void said.push(/set (\w+)/.exec(String(words.at(-1)))?.[1] ?? "");
  warnOfExposure(readSettings(env).http, { isIntakeOpen }, { warn });
  return said;
}

test.each(["0.0.0.0", "::", "192.0.2.7", "noisefloor"])("what is open to everybody who reaches %s is said", (host) => {
  expect(warnings({ HTTP_HOST: host }, true)).toEqual(["SENSOR_KEYS", "METRICS_TOKEN"]);
  expect(warnings({ HTTP_HOST: host }, false)).toEqual(["METRICS_TOKEN"]);
  expect(warnings({ HTTP_HOST: host, METRICS_TOKEN: KEY }, true)).toEqual(["SENSOR_KEYS"]);
  expect(warnings({ HTTP_HOST: host, METRICS_TOKEN: KEY }, false)).toEqual([]);
});

test.each(["127.0.0.1", "::1", "localhost"])("what only this machine reaches at %s needs no warning", (host) => {
  expect(warnings({ HTTP_HOST: host }, true)).toEqual([]);
});

test("an open intake that any page may call is said wherever it listens", () => {
  expect(warnings({ CORS_ORIGINS: "*" }, true)).toEqual(["SENSOR_KEYS"]);
  expect(warnings({ CORS_ORIGINS: "*" }, false)).toEqual([]);
});
