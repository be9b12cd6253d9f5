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

/**
 * The IPv4 addresses to which an IPv6 one leads: mapped, compatible, translated (NAT64, SIIT) or tunnelled (6to4, Teredo,
 * ISATAP). None for a text that is no IPv6 address.
 */
export function embeddedIpv4(text: string): string[] {
  if (!text.includes(":") || !ipaddr.IPv6.isValid(text)) return [];
  const parts = ipaddr.IPv6.parse(text).parts;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = parts;
  const ipv4 = (high: number, low: number) => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  const endsWithIpv4 =
    (parts.slice(0, 4).every((part) => part === 0) && [0, 0xffff].includes(e) && [0, 0xffff].includes(f)) ||
    (a === 0x64 && b === 0xff9b) ||
    ((e & 0xfcff) === 0 && f === 0x5efe);
  return [
    ...(endsWithIpv4 ? [ipv4(g, h)] : []),
    // RFC 6052 with a prefix of 48 bits: eight bits in the middle are not the address's.
    ...(a === 0x64 && b === 0xff9b && c === 1 ? [ipv4(d, ((e & 255) << 8) | (f >> 8))] : []),
    ...(a === 0x2002 ? [ipv4(b, c)] : []),
    ...(a === 0x2001 && b === 0 ? [ipv4(c, d), ipv4(g ^ 0xffff, h ^ 0xffff)] : []),
  ];
}
