/** Transport protocols of an observation. */
export const TRANSPORTS = ["tcp", "udp", "icmp", "sctp"] as const;
export type Transport = (typeof TRANSPORTS)[number];
