const DOT = 46;
const ZERO = 48;
const INVALID = -1;

/**
 * Reads four decimal parts without leading zeros: rejects `1.2`, `0x7f.1`, `010.0.0.1` and `::ffff:1.2.3.4`. Character
 * by character and without a regular expression, as a request may have 10,000 addresses.
 * @returns {@link INVALID} for any other text.
 */
function parse(text: string): number {
  let value = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === DOT) {
      if (digits === 0 || dots === 3) return INVALID;
      value = value * 256 + part;
      part = 0;
      digits = 0;
      dots++;
      continue;
    }
    const digit = code - ZERO;
    const hasLeadingZero = digits > 0 && part === 0;
    part = part * 10 + digit;
    digits++;
    if (digit < 0 || digit > 9 || hasLeadingZero || part > 255) return INVALID;
  }
  return dots === 3 && digits > 0 ? value * 256 + part : INVALID;
}

/**
 * Networks that the Internet does not route, ascending. AS112 (RFC 7534) and AMT relays (RFC 7450) are missing because
 * they are globally reachable, though special-purpose.
 */
const NOT_ROUTABLE = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map((text) => {
  const [first = "", length = ""] = text.split("/");
  const network = { first: ipv4ToNumber(first), length: Number(length) };
  return { first: network.first, last: lastAddress(network) };
});

/** Is this text an IPv4 address in canonical dotted decimal? */
export function isIpv4(text: string): boolean {
  return parse(text) !== INVALID;
}

/**
 * Is this text an IPv4 address that can be a source on the Internet? Private, loopback, link-local, carrier-grade NAT,
 * multicast, broadcast, documentation, benchmarking, reserved and 0/8 addresses cannot.
 * Source: SPEC, community lookup ("only a valid routable IPv4 address is accepted").
 */
export function isRoutableIpv4(text: string): boolean {
  const value = parse(text);
  if (value === INVALID) return false;
  return !NOT_ROUTABLE.some(({ first, last }) => first <= value && value <= last);
}

/** `8.8.8.8` → 134744072. Throws a RangeError for a text that does not satisfy {@link isIpv4}. */
export function ipv4ToNumber(text: string): number {
  const value = parse(text);
  if (value === INVALID) throw new RangeError(`${text.slice(0, 20)} is not an IPv4 address`);
  return value;
}

/** 134744072 → `8.8.8.8`. Throws a RangeError outside 0..2^32-1. */
export function numberToIpv4(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw new RangeError(`${value} is not an unsigned 32-bit integer`);
  }
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

/** A network: its first address and its prefix length in bits. */
export type Ipv4Network = { readonly first: number; readonly length: number };

/** The last address of a network, as an unsigned integer. */
export function lastAddress(network: Ipv4Network): number {
  return network.first + 2 ** (32 - network.length) - 1;
}

/**
 * Parses `a.b.c.d/n` or a bare address, which is a /32. Rejects bits set after the prefix, as they are usually a
 * mistake.
 * @returns the network, or an error message.
 */
export function parseNetwork(text: string): Ipv4Network | string {
  const [address = "", bits, ...rest] = text.split("/");
  if (!isIpv4(address) || rest.length > 0) return "not an IPv4 address or network";
  if (bits === undefined) return { first: ipv4ToNumber(address), length: 32 };
  if (!/^(?:3[0-2]|[12]?\d)$/.test(bits)) return `prefix length "${bits}" is not 0 to 32`;
  const network = { first: ipv4ToNumber(address), length: Number(bits) };
  if (network.first % 2 ** (32 - network.length) !== 0) return `address has bits set beyond its /${bits} prefix`;
  return network;
}
