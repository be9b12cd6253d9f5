import { MEMBERS } from "@noisefloor/domain/observation/members.ts";
import type { AddressFacts } from "./facts.ts";

/** The largest autonomous system number. */
const MAX_ASN = 4_294_967_295;

/** Codes that databases use like countries: Asia/Pacific, Europe, unknown, proxies, satellites, Tor. */
const NO_COUNTRIES: ReadonlySet<string> = new Set([
  "A1",
  "A2",
  "AP",
  "EU",
  "EZ",
  "O1",
  "QO",
  "T1",
  "UN",
  "XA",
  "XB",
  "XX",
  "ZZ",
]);
const countryNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
const knownCodes = new Map<string, boolean>();

/**
 * Reads a record of an mmdb file: those of MaxMind (GeoLite2 and GeoIP2: City, Country, ASN, ISP, Enterprise), DB-IP
 * (the same members), IPinfo (flat; numbers may be texts) and ip-location-db (flat, `state1` for the region).
 */
export function readRecord(record: unknown): AddressFacts {
  const facts: AddressFacts = {};
  const traits = get(record, "traits");
  const asn = readAsn(first(record, "autonomous_system_number", "asn") ?? get(traits, "autonomous_system_number"));
  const organization = readText(
    first(record, "autonomous_system_organization", "as_name") ??
      get(traits, "autonomous_system_organization") ??
      // IPinfo's file of networks calls the organisation so. Without a number it is the name of something else.
      (asn === undefined ? undefined : get(record, "name")),
    MEMBERS.organization.maxLength,
  );
  const country = readCountry(record);
  const [subdivision] = readArray(get(record, "subdivisions"));
  const region = readText(nameOf(subdivision) ?? first(record, "region", "state1"), MEMBERS.city.maxLength);
  const city = readText(nameOf(get(record, "city")) ?? get(record, "city"), MEMBERS.city.maxLength);
  const location = get(record, "location");
  const latitude = readDegrees(get(location, "latitude") ?? first(record, "latitude", "lat"), 90);
  const longitude = readDegrees(get(location, "longitude") ?? first(record, "longitude", "lng"), 180);
  if (asn !== undefined) facts.asn = asn;
  if (organization !== undefined) facts.organization = organization;
  if (country !== undefined) facts.country = country;
  if (region !== undefined) facts.region = region;
  if (city !== undefined) facts.city = city;
  if (latitude !== undefined && longitude !== undefined) {
    facts.latitude = latitude;
    facts.longitude = longitude;
  }
  return facts;
}

/** Where the address is; if that is unknown, the country in which its network is registered. */
function readCountry(record: unknown): string | undefined {
  const codes = [
    get(record, "country_code"),
    get(get(record, "country"), "iso_code"),
    get(record, "country"),
    get(get(record, "registered_country"), "iso_code"),
  ];
  return codes.find((code): code is string => typeof code === "string" && isCountryCode(code));
}

/** Whether a text is the ISO 3166-1 alpha-2 code of a country. */
function isCountryCode(code: string): boolean {
  if (!/^[A-Z]{2}$/.test(code)) return false;
  let isKnown = knownCodes.get(code);
  if (isKnown === undefined) {
    isKnown = !NO_COUNTRIES.has(code) && countryNames.of(code) !== undefined;
    knownCodes.set(code, isKnown);
  }
  return isKnown;
}

/** A number, or a text like "AS14061". Networks have numbers above 0. */
function readAsn(value: unknown): number | undefined {
  const asn = typeof value === "string" && /^(?:AS)?\d{1,10}$/i.test(value) ? Number(value.replace(/^AS/i, "")) : value;
  return typeof asn === "number" && Number.isInteger(asn) && asn > 0 && asn <= MAX_ASN ? asn : undefined;
}

/** A name that the wire schema accepts; "-" is one vendor's word for unknown. */
export function readText(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  return text === "" || text === "-" ? undefined : text.slice(0, maxLength).toWellFormed();
}

function readDegrees(value: unknown, limit: number): number | undefined {
  const degrees = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof degrees === "number" && Math.abs(degrees) <= limit ? degrees : undefined;
}

/** The English name, or else any. */
function nameOf(value: unknown): unknown {
  const names = get(value, "names");
  return get(names, "en") ?? (isRecord(names) ? Object.values(names)[0] : undefined);
}

function first(record: unknown, ...names: readonly string[]): unknown {
  return names.map((name) => get(record, name)).find((value) => value !== undefined && value !== "");
}

function get(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function readArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
