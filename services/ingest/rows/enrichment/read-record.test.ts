import { expect, test } from "vitest";
import { readRecord } from "./read-record.ts";

const HANOI = { latitude: 21.0292, longitude: 105.8526 };

test.each([
  [
    "GeoLite2 City",
    {
      city: { geoname_id: 1, names: { de: "Hanoi", en: "Hanoi" } },
      country: { iso_code: "VN", names: { en: "Vietnam" } },
      registered_country: { iso_code: "SG" },
      location: { accuracy_radius: 20, ...HANOI, time_zone: "Asia/Bangkok" },
      subdivisions: [{ iso_code: "HN", names: { en: "Hà Nội" } }, { names: { en: "inner" } }],
    },
    { country: "VN", region: "Hà Nội", city: "Hanoi", ...HANOI },
  ],
  ["GeoLite2 Country", { country: { iso_code: "VN" }, continent: { code: "AS" } }, { country: "VN" }],
  ["GeoLite2 Country, of a network without a place", { registered_country: { iso_code: "SG" } }, { country: "SG" }],
  [
    "GeoLite2 ASN",
    { autonomous_system_number: 18403, autonomous_system_organization: "FPT Telecom" },
    { asn: 18403, organization: "FPT Telecom" },
  ],
  [
    "GeoIP2 ISP",
    {
      autonomous_system_number: 18403,
      autonomous_system_organization: "FPT Telecom",
      isp: "FPT",
      organization: "Shop",
    },
    { asn: 18403, organization: "FPT Telecom" },
  ],
  [
    "GeoIP2 Enterprise",
    {
      country: { iso_code: "VN", confidence: 99 },
      traits: { autonomous_system_number: 18403, autonomous_system_organization: "FPT Telecom", user_type: "business" },
    },
    { asn: 18403, organization: "FPT Telecom", country: "VN" },
  ],
  [
    "DB-IP City",
    {
      city: { names: { en: "Hanoi (Hoan Kiem)" } },
      continent: { code: "AS" },
      country: { iso_code: "VN", is_in_european_union: false },
      location: HANOI,
      subdivisions: [{ names: { en: "Hanoi" } }],
    },
    { country: "VN", region: "Hanoi", city: "Hanoi (Hoan Kiem)", ...HANOI },
  ],
  ["DB-IP, of an unknown place", { country: { iso_code: "ZZ" }, continent: { code: "ZZ" } }, {}],
  [
    "IPinfo Lite",
    { asn: "AS18403", as_name: "FPT Telecom", as_domain: "fpt.example", country: "Vietnam", country_code: "VN" },
    { asn: 18403, organization: "FPT Telecom", country: "VN" },
  ],
  [
    "IPinfo country and ASN",
    { asn: "AS18403", as_name: "FPT Telecom", country: "VN", country_name: "Vietnam", continent: "AS" },
    { asn: 18403, organization: "FPT Telecom", country: "VN" },
  ],
  [
    "IPinfo ASN",
    { asn: "AS18403", name: "FPT Telecom", domain: "fpt.example", route: "118.69.0.0/16" },
    { asn: 18403, organization: "FPT Telecom" },
  ],
  [
    "IPinfo location",
    { city: "Hanoi", region: "Hanoi", country: "VN", lat: "21.0292", lng: "105.8526", timezone: "Asia/Bangkok" },
    { country: "VN", region: "Hanoi", city: "Hanoi", ...HANOI },
  ],
  ["ip-location-db country", { country_code: "VN" }, { country: "VN" }],
  [
    "ip-location-db city",
    { country_code: "VN", state1: "Hanoi", state2: "", city: "Hanoi", postcode: "", ...HANOI },
    { country: "VN", region: "Hanoi", city: "Hanoi", ...HANOI },
  ],
])("a record of %s is understood", (_database, record, facts) => {
  expect(readRecord(record)).toEqual(facts);
});

test.each(["ZZ", "EU", "AP", "A1", "T1", "XX", "vn", "VNM", "", "QQ"])("%j is no country", (code) => {
  expect(readRecord({ country_code: code })).toEqual({});
  expect(readRecord({ country: { iso_code: code } })).toEqual({});
});

test("what does not fit the wire schema is cut or left out", () => {
  const record = {
    asn: "AS4294967296",
    as_name: `${"x".repeat(255)}😀`,
    region: "r".repeat(200),
    city: "  ",
    latitude: 91,
    longitude: 10,
  };
  const { organization = "", ...rest } = readRecord(record);
  expect(rest).toEqual({ region: "r".repeat(128) });
  expect(organization).toHaveLength(256);
  expect(organization.isWellFormed()).toBe(true);
});

test("latitude and longitude come together or not at all", () => {
  expect(readRecord({ latitude: 21 })).toEqual({});
  expect(readRecord({ latitude: "21", longitude: "north" })).toEqual({});
});

test.each([null, undefined, 7, "VN", [], {}, { __proto__: { country_code: "VN" } }])(
  "of any other record, like %j, nothing is known",
  (record) => expect(readRecord(record)).toEqual({}),
);
