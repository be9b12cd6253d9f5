/** Names of a transport, of a log or of a guess that failed: they say nothing about what was spoken. */
const GENERIC = new Set([
  ...["tcp", "udp", "sctp", "icmp", "ip", "ipv4", "ipv6"],
  ...["unknown", "unassigned", "undefined", "none", "other", "failed", "data", "generic"],
  ...["alert", "analyzer", "anomaly", "conn", "connection", "dpd", "drop", "event", "fileinfo", "files", "flow"],
  ...["netflow", "notice", "packet", "session", "tunnel", "weird"],
]);
/** What other protocols are spoken in. */
const ENVELOPES = new Set(["tls", "ssl", "dtls", "quic"]);

const rankOf = (name: string) => (GENERIC.has(name) ? 0 : ENVELOPES.has(name) ? 1 : 2);

/** Of two names for what one session speaks the one that says more, whichever came first. */
export function betterApplication(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || one === other) return other;
  if (other === undefined) return one;
  const difference = rankOf(one) - rankOf(other);
  if (difference !== 0) return difference > 0 ? one : other;
  return one < other ? one : other;
}
