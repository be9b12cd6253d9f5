import { v5 as uuidV5 } from "uuid";

/** STIX's own namespace for ids that are made of an object's members. */
export const INDICATOR_NAMESPACE = "00abedb4-aa42-466c-9c01-fed23315a9b7";

/** STIX's pattern for an address: `[ipv4-addr:value = '198.51.100.7']`. */
export function indicatorPatternOf(ip: string): string {
  return `[ipv4-addr:value = '${ip}']`;
}

const nameOf = (ip: string) => JSON.stringify({ pattern: indicatorPatternOf(ip) });
/** What stands before and after an address in the name that its indicator's id is made of. */
export const INDICATOR_NAME = nameOf("*").split("*");

/** The UUID of an address's indicator: the same in every feed and process. */
export function indicatorUuidOf(ip: string): string {
  return uuidV5(nameOf(ip), INDICATOR_NAMESPACE);
}

/** The UUID of an address's attribute in an event of MISP. */
export function attributeUuidOf(eventUuid: string, ip: string): string {
  return uuidV5(ip, eventUuid);
}
