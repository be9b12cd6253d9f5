import { getPublicSuffix } from "tldts";
import { isIpv4, isRoutableIpv4 } from "../address/ipv4.ts";

/**
 * Shorter than DNS allows: a policy zone puts a name, and `*.` before it, below its own name, which may have 75
 * characters.
 */
const MAX_NAME_LENGTH = 170;
const LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
const NAME = new RegExp(`^(?:${LABEL}\\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$`);

/** Names that no machine finds outside of its own network, by RFC 6761, 6762, 8375 and ICANN's `internal`. */
const LOCAL = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa)$/;

/**
 * Whether a list of callbacks may have a host: a routable address, or a name as DNS has it in lower case. Nothing else may
 * reach a file that a program reads. Below a public suffix, like `co.uk` and `github.io`, each name is another owner's:
 * whoever named one to a sensor would block them all.
 */
export const isListedHost = (host: string): boolean =>
  isIpv4(host)
    ? isRoutableIpv4(host)
    : host.length <= MAX_NAME_LENGTH && NAME.test(host) && !LOCAL.test(host) && !isPublicSuffix(host);

const isPublicSuffix = (name: string) => getPublicSuffix(name, { allowPrivateDomains: true }) === name;
