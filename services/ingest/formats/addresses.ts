import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { mappedIpv4 } from "@noisefloor/domain/address/ipv6.ts";

/** An address and the port that a sensor writes after it. */
export type AddressAndPort = { readonly address: string; readonly port?: number };

/** `[2001:db8::1]:22` and `[::ffff:8.8.8.8]`, as of RFC 3986; Java puts a slash before an address without a name. */
const IN_BRACKETS = /^\/?\[([^\]]*)\](?::(\d{1,5}))?$/;
/** `8.8.8.8:22` and `::ffff:8.8.8.8:22`: what follows the last of four parts is no part of the address. */
const WITH_PORT = /^\/?([\da-f:.]*\.\d+):(\d{1,5})$/i;

/**
 * Splits what a sensor writes for an address: an IPv4 address that is mapped into IPv6, in any spelling, becomes
 * itself; a port after it and an IPv6 zone index like `%eth0` are no part of it. Any other text is the address as it
 * is.
 */
export function splitAddress(text: string): AddressAndPort {
  if (isIpv4(text)) return { address: text };
  const trimmed = text.trim();
  const [, inside = trimmed, digits] = IN_BRACKETS.exec(trimmed) ?? WITH_PORT.exec(trimmed) ?? [];
  const bare = inside.replace(/^\//, "").replace(/%.*$/, "");
  const address = mappedIpv4(bare) ?? bare;
  if (digits === undefined) return { address };
  return Number(digits) <= 65_535 ? { address, port: Number(digits) } : { address: text };
}
