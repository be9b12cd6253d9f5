import ipaddr from "ipaddr.js";
import { isIpv4 } from "./ipv4.ts";

/** Is this text an IPv6 address, without brackets and without a zone index like `%eth0`? */
export function isIpv6(text: string): boolean {
  const end = text.slice(text.lastIndexOf(":") + 1);
  // ipaddr.js reads numbers like 010 and 0x7f as well.
  if (end.includes(".") && !isIpv4(end)) return false;
  return text.includes(":") && !text.includes("%") && ipaddr.IPv6.isValid(text);
}

/**
 * The IPv4 address that an IPv6 one maps, in any spelling: `::ffff:8.8.8.8`, `::ffff:808:808`,
 * `0:0:0:0:0:FFFF:808:808`. Undefined for any other text, also for `::8.8.8.8`, which maps none.
 */
export function mappedIpv4(text: string): string | undefined {
  // ipaddr.js reads ::8.8.8.8 as ::ffff:8.8.8.8.
  if (!isIpv6(text) || /^::\d+\./.test(text)) return undefined;
  const ip = ipaddr.IPv6.parse(text);
  return ip.isIPv4MappedAddress() ? ip.toIPv4Address().toString() : undefined;
}

/** An address in its IPv4 spelling where it has one; any other text as it is. */
export function plainIpv4(text: string): string {
  return text.includes(":") ? (mappedIpv4(text) ?? text) : text;
}
