import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { mmdb } from "../../../../test/support/ingest/mmdb.ts";
import { type OpenEnricher, openEnricher } from "./open-enricher.ts";

/** Longer than any test: files are looked at when `refresh` is called. */
const NEVER_MS = 86_400_000;
const SOURCE = "118.69.124.186";

let folder: string;
let warnings: string[];
let opened: OpenEnricher[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-mmdb-"));
  warnings = [];
  opened = [];
});
afterEach(async () => {
  for (const { stop } of opened) stop();
  await rm(folder, { recursive: true, force: true });
});

const pathOf = (name: string) => join(folder, name);
const log = {
  warn: (fields: { path?: string; package?: string }, message: string) =>
    void warnings.push(`${message} ${fields.path ?? fields.package}`),
};

async function write(name: string, content: Buffer | string): Promise<string> {
  // As a downloader should: a reader never sees half a file.
  await writeFile(pathOf(`${name}.new`), content);
  await rename(pathOf(`${name}.new`), pathOf(name));
  return pathOf(name);
}

/** With the given files, and the npm packages from this folder alone. */
async function open(mmdbPaths: readonly string[], more: Partial<Parameters<typeof openEnricher>[0]> = {}) {
  const enricher = await openEnricher({
    mmdbPaths,
    log,
    pollIntervalMs: NEVER_MS,
    resolvePackage: () => {
      throw new Error("not installed");
    },
    ...more,
  });
  opened.push(enricher);
  return enricher;
}

const COUNTRY = mmdb({ "118.69.0.0/16": { country: { iso_code: "VN" } } }, { type: "GeoLite2-Country" });
const ASN = mmdb({
  "118.69.0.0/16": { autonomous_system_number: 18_403, autonomous_system_organization: "FPT Telecom" },
});
const HANOI = { country: "VN", region: "Hanoi", city: "Hanoi", latitude: 21.5, longitude: 105.5 };
const CITY = mmdb({
  "118.69.0.0/16": {
    country: { iso_code: "VN" },
    subdivisions: [{ names: { en: "Hanoi" } }],
    city: { names: { en: "Hanoi" } },
    location: { latitude: 21.5, longitude: 105.5 },
  },
});

describe("an observation", () => {
  test("gets the network and the place of its source from the files", async () => {
    const { enrich } = await open([await write("city.mmdb", CITY), await write("asn.mmdb", ASN)]);
    const sent = { source_ip: SOURCE };
    expect(enrich(sent)).toBe(sent);
    expect(sent).toEqual({ source_ip: SOURCE, asn: 18_403, organization: "FPT Telecom", ...HANOI });
  });

  test("keeps what its sensor said", async () => {
    const { enrich } = await open([await write("city.mmdb", CITY), await write("asn.mmdb", ASN)]);
    const own = { asn: 64_500, organization: "Own", country: "DE", region: "Own", city: "Own" };
    const said = { source_ip: SOURCE, ...own, latitude: 1, longitude: 2 };
    expect(enrich({ ...said })).toEqual(said);
  });

  test("gets no organisation of another network, and no city of another country than its sensor named", async () => {
    const { enrich } = await open([await write("city.mmdb", CITY), await write("asn.mmdb", ASN)]);
    const said = { source_ip: SOURCE, asn: 64_500, country: "DE" };
    expect(enrich({ ...said })).toEqual(said);
    const agreed = { source_ip: SOURCE, asn: 18_403, country: "VN" };
    expect(enrich({ ...agreed })).toEqual({ ...agreed, organization: "FPT Telecom", ...HANOI });
  });

  test("of an address that no file knows stays as it is", async () => {
    const { enrich } = await open([await write("city.mmdb", CITY)]);
    expect(enrich({ source_ip: "119.0.0.1" })).toEqual({ source_ip: "119.0.0.1" });
  });

  test("gets each member from the first file that knows it", async () => {
    const other = mmdb({ "118.69.0.0/16": { country_code: "SG", city: "Singapore", asn: "AS1", as_name: "Other" } });
    const { enrich } = await open([await write("country.mmdb", COUNTRY), await write("other.mmdb", other)]);
    expect(enrich({ source_ip: SOURCE })).toEqual({
      source_ip: SOURCE,
      country: "VN",
      asn: 1,
      organization: "Other",
    });
  });
});

describe("a file", () => {
  test("that is replaced counts from then on", async () => {
    const path = await write("country.mmdb", COUNTRY);
    const { enrich, refresh } = await open([path]);
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ country: "VN" });
    await write(
      "country.mmdb",
      mmdb({ "118.69.0.0/16": { country: { iso_code: "SG" } }, "5.0.0.0/8": { asn: "AS5" } }),
    );
    await refresh();
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ country: "SG" });
    expect(warnings).toEqual([]);
  });

  test.each([
    ["cut in the middle", COUNTRY.subarray(0, COUNTRY.length / 2)],
    ["something else", Buffer.from("<html>")],
    ["empty", Buffer.alloc(0)],
    ["packed", gzipSync(COUNTRY)],
  ])("that is then %s leaves the earlier one in use, with one warning", async (_how, broken) => {
    const path = await write("country.mmdb", COUNTRY);
    const metrics = createMetrics();
    const { enrich, refresh } = await open([path], { metrics });
    await write("country.mmdb", broken);
    await refresh();
    await refresh();
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ country: "VN" });
    expect(warnings).toEqual([`reading a database failed; the earlier one is used ${path}`]);
    expect(await metrics.text()).toContain("noisefloor_database_reload_failures_total 1");
  });

  test("that is missing is a warning, and counts once it is there", async () => {
    const { enrich, refresh } = await open([pathOf("late.mmdb")]);
    expect(enrich({ source_ip: SOURCE })).toEqual({ source_ip: SOURCE });
    expect(warnings).toEqual([`reading a database failed; none is used ${pathOf("late.mmdb")}`]);
    await write("late.mmdb", COUNTRY);
    await refresh();
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ country: "VN" });
  });

  test("shows in the metrics with the time when it was made", async () => {
    const metrics = createMetrics();
    const builtAt = Date.UTC(2026, 9, 3);
    await open([await write("dated.mmdb", mmdb({ "5.0.0.0/8": { country_code: "DE" } }, { builtAt }))], { metrics });
    expect(await metrics.text()).toContain(
      `noisefloor_database_built_timestamp_seconds{database="dated.mmdb"} ${builtAt / 1_000}`,
    );
  });
});

describe("the npm packages", () => {
  const inFolder = { resolvePackage: (file: string) => pathOf(file.replaceAll("/", "-")) };
  const NETWORKS = "@ip-location-db-asn-asn-ipv4-num.csv";
  const COUNTRIES = "@ip-location-db-geo-whois-asn-country-mmdb-geo-whois-asn-country-ipv4.mmdb";
  const range = `${ipv4ToNumber("118.69.0.0")},${ipv4ToNumber("118.69.255.255")}`;

  test("are used without any setting", async () => {
    await write(NETWORKS, `${range},18403,"FPT, Inc."\n`);
    await write(COUNTRIES, mmdb({ "118.0.0.0/8": { country_code: "VN" } }));
    const { enrich, databases } = await open([], inFolder);
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ asn: 18_403, organization: "FPT, Inc.", country: "VN" });
    expect(databases()).toEqual(["@ip-location-db/asn", "@ip-location-db/geo-whois-asn-country-mmdb"]);
  });

  test("fill in what the files of MMDB_PATHS leave out, and nothing else", async () => {
    await write(NETWORKS, `${range},64500,Other\n`);
    await write(COUNTRIES, mmdb({ "118.0.0.0/8": { country_code: "SG" } }));
    const { enrich } = await open([await write("asn.mmdb", ASN)], inFolder);
    expect(enrich({ source_ip: SOURCE })).toMatchObject({ asn: 18_403, organization: "FPT Telecom", country: "SG" });
  });

  test("may be missing: a warning says what to install", async () => {
    const { enrich } = await open([]);
    expect(enrich({ source_ip: SOURCE })).toEqual({ source_ip: SOURCE });
    expect(warnings).toEqual([
      expect.stringContaining('"npm install @ip-location-db/asn", or set MMDB_PATHS'),
      expect.stringContaining('"npm install @ip-location-db/geo-whois-asn-country-mmdb", or set MMDB_PATHS'),
    ]);
  });

  test("that are broken are a warning", async () => {
    await write(NETWORKS, "not a table");
    await write(COUNTRIES, "not an mmdb file");
    const { enrich } = await open([], inFolder);
    expect(enrich({ source_ip: SOURCE })).toEqual({ source_ip: SOURCE });
    expect(warnings).toHaveLength(2);
  });

  test("that this checkout has installed know well known addresses", async () => {
    const enricher = await openEnricher({ mmdbPaths: [], log });
    opened.push(enricher);
    expect(warnings).toEqual([]);
    expect(enricher.factsOf("8.8.8.8")).toMatchObject({ asn: 15_169, country: "US" });
  });
});
