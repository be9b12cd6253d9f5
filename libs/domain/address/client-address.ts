import ipaddr from "ipaddr.js";
import { isIpv4 } from "./ipv4.ts";
import { mappedIpv4 } from "./ipv6.ts";

/** Matches `1.2.3.4:1111` and `[2001:db8::1]:1111`, as some proxies write addresses, but no bare IPv6 address. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/;

/**
 * The key under which limits count a client: its IPv4 address, or the /64 network of its IPv6 address, because a client
 * with one address of a /64 has all of them. Ports are dropped, and `::ffff:8.8.8.8` becomes `8.8.8.8`.
 * @param forwarded the address that proxies report. A text that is no address is ignored: clients could invent any.
 * @param peer the remote address of the connection, the fallback.
 */
export function clientNetwork(forwarded: string, peer: string | undefined): string {
  return networkOf(forwarded) ?? networkOf(peer ?? "") ?? "unknown";
}

function networkOf(text: string): string | undefined {
  const [, inBrackets, beforePort] = WITH_PORT.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  if (isIpv4(address)) return address;
  if (!ipaddr.IPv6.isValid(address)) return undefined;
  const mapped = mappedIpv4(address.replace(/%.*/, ""));
  if (mapped !== undefined) return mapped;
  const ip = ipaddr.IPv6.parse(address);
  return `${new ipaddr.IPv6([...ip.parts.slice(0, 4), 0, 0, 0, 0]).toRFC5952String()}/64`;
}
