import { readSettings } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { warnOfExposure } from "./exposure.ts";

const KEY = "0123456789abcdef";

/** The setting that each warning names. */
function warnings(env: Record<string, string>, isIntakeOpen: boolean): readonly string[] {
  const settings: string[] = [];
  const warn = (...args: unknown[]) => void settings.push(/set (\w+)/.exec(String(args.at(-1)))?.[1] ?? "");
  warnOfExposure(readSettings(env).http, { isIntakeOpen }, { warn });
  return settings;
}

test.each(["0.0.0.0", "::", "192.0.2.7", "noisefloor"])(
  "on %s a warning names each setting that is missing",
  (host) => {
    expect(warnings({ HTTP_HOST: host }, true)).toEqual(["SENSOR_KEYS", "METRICS_TOKEN"]);
    expect(warnings({ HTTP_HOST: host }, false)).toEqual(["METRICS_TOKEN"]);
    expect(warnings({ HTTP_HOST: host, METRICS_TOKEN: KEY }, true)).toEqual(["SENSOR_KEYS"]);
    expect(warnings({ HTTP_HOST: host, METRICS_TOKEN: KEY }, false)).toEqual([]);
  },
);

test.each(["127.0.0.1", "::1", "localhost"])("on %s, which only this machine reaches, there is no warning", (host) => {
  expect(warnings({ HTTP_HOST: host }, true)).toEqual([]);
});

test("an open intake that every web page may call gives a warning on any host", () => {
  expect(warnings({ CORS_ORIGINS: "*" }, true)).toEqual(["SENSOR_KEYS"]);
  expect(warnings({ CORS_ORIGINS: "*" }, false)).toEqual([]);
});
