import type { LookupAddress } from "node:dns";
import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import pLimit from "p-limit";

/** Twice within the time of an attempt, with as much left for the connection. */
const QUERY = { timeout: 1_500, tries: 2 };

/**
 * The system's own look-up, which alone knows /etc/hosts and search domains, waits in one of the process's four threads
 * for files and compression: names that never resolve must not take all of them.
 */
const limitSystem = pLimit(2);

/**
 * Resolves a name by DNS, in no thread, then as the system does.
 * @param servers of DNS, with their ports; left out, those of the system.
 */
export function nameResolver(servers?: readonly string[]): (name: string) => Promise<readonly LookupAddress[]> {
  return async (name) => {
    const resolver = new Resolver(QUERY);
    if (servers !== undefined) resolver.setServers(servers);
    const answers = name.includes(".")
      ? await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      : [];
    const found = answers
      .flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
      .map((address) => ({ address, family: isIP(address) }));
    return found.length > 0 ? found : limitSystem(() => lookup(name, { all: true }));
  };
}
