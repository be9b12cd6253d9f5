import ipaddr from "ipaddr.js";
import { isIpv4 } from "./ipv4.ts";

/** `1.2.3.4:1111` and `[2001:db8::1]:1111`, as some proxies write an address; a bare IPv6 address is neither. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/;

/**
 * Whom a client's address stands for, in one spelling, so that a caller is counted as one: an IPv4 address, or the /64 of
 * an IPv6 address, for whoever has one address of it has all. Ports do not count, and `::ffff:8.8.8.8` is `8.8.8.8`.
 * @param claimed what proxies say the address is. Where that is none, callers could make themselves new names at will.
 * @param ofConnection the address at the other end of the connection, which counts then.
 */
export function clientNetwork(claimed: string, ofConnection: string | undefined): string {
  return networkOf(claimed) ?? networkOf(ofConnection ?? "") ?? "unknown";
}

function networkOf(text: string): string | undefined {
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  if (isIpv4(address)) return address;
  if (!ipaddr.IPv6.isValid(address)) return undefined;
  const ip = ipaddr.IPv6.parse(address);
  if (ip.isIPv4MappedAddress()) return ip.toIPv4Address().toString();
  return `${new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]).toRFC5952String()}/64`;
}
