import type { RangeBounds } from "@noisefloor/domain/address/ranges.ts";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";

/** What databases say about the network and the place of an address; what they do not know is left out. */
export type AddressFacts = Pick<
  WireObservation,
  "asn" | "organization" | "country" | "region" | "city" | "latitude" | "longitude"
>;

/** A database of addresses. */
export type FactsSource = {
  /** For log lines and metrics. */
  readonly name: string;
  /** When it was made, in milliseconds since 1970 UTC; undefined when it does not say. */
  readonly builtAt: number | undefined;
  lookUp(ip: string): AddressFacts | undefined;
  /** All its networks, if it can list them. */
  readonly ranges?: NetworkRanges;
};

/** Ascending ranges of addresses, both ends inclusive, as columns of equal length; network 0 is none. */
export type NetworkRanges = RangeBounds & { readonly size: number; readonly asn: Uint32Array };

/** Empty texts and the number 0 mean "unknown" in the table of observations. */
const isUnknown = (value: string | number | undefined) => value === undefined || value === "" || value === 0;

/** Whether nothing contradicts that both mean the same thing. */
const agrees = (own: string | number | undefined, found: string | number | undefined) =>
  isUnknown(own) || own === found;

/**
 * Adds to `target` what it leaves out, and changes nothing that it says. What belongs together comes from one place: a
 * database that sees the address in another network or country knows nothing about this organisation or city.
 * `fillObservations` in libs/clickhouse follows the same rule for rows that are stored.
 */
export function fillIn(target: AddressFacts, facts: AddressFacts): void {
  const { asn, organization, country, region, city, latitude, longitude } = facts;
  if (organization !== undefined && isUnknown(target.organization) && agrees(target.asn, asn)) {
    target.organization = organization;
  }
  if (asn !== undefined && isUnknown(target.asn)) target.asn = asn;
  if (agrees(target.country, country) && agrees(target.city, city)) {
    if (region !== undefined && isUnknown(target.region)) target.region = region;
    if (city !== undefined && isUnknown(target.city)) target.city = city;
    if (
      latitude !== undefined &&
      longitude !== undefined &&
      isUnknown(target.latitude) &&
      isUnknown(target.longitude)
    ) {
      target.latitude = latitude;
      target.longitude = longitude;
    }
  }
  if (country !== undefined && isUnknown(target.country)) target.country = country;
}
