import { expect, test } from "vitest";
import { parseScopes } from "./choices.ts";
import { addressesToCsv, addressesToNdjson, toCsv, toNdjson } from "./export.ts";

const bucket = {
  start: "2026-11-20T00:00:00Z",
  end: "2026-11-20T04:00:00Z",
  include_start: true,
  include_end: false,
  timestamp: "2026-11-20T00:00:00Z",
  active_ips: 3,
} as const;

test("buckets and addresses can be taken along as CSV and NDJSON", () => {
  expect(toCsv([bucket])).toBe("start,end,active_ips\r\n2026-11-20T00:00:00Z,2026-11-20T04:00:00Z,3\r\n");
  expect(
    toNdjson([bucket, bucket])
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([bucket, bucket]);
  expect(addressesToCsv(["45.0.0.1"])).toBe("ip\r\n45.0.0.1\r\n");
  expect(addressesToNdjson(["45.0.0.1"])).toBe('{"ip":"45.0.0.1"}\n');
});

test("datasets of a URL are the known ones, each once", () => {
  expect(parseScopes("personal,global,other,global")).toEqual(["global", "personal"]);
  expect(parseScopes("")).toEqual([]);
});
