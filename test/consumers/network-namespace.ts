import { runProgram, unpackDebian } from "../support/programs.ts";

/** nftables, ipset, iptables, CrowdSec's firewall bouncer, and `ip`, which a namespace's loopback needs. */
export const unpackFirewalls = () =>
  unpackDebian("packet-filters-trixie", "trixie", [
    "nftables",
    "ipset",
    "iptables",
    "iproute2",
    "crowdsec-firewall-bouncer",
  ]);

/**
 * Runs a shell script in a network namespace of its own, as its root, which needs no right on this machine: what it
 * loads into the kernel's firewall vanishes with it.
 * @param programs commands by the name that the script calls each with.
 * @returns what it wrote. @throws when one of its commands failed.
 */
export function runInNamespace(script: string, programs: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const functions = Object.entries(programs).map(([name, command]) => `${name}() { ${command.join(" ")} "$@"; }`);
  return runProgram("unshare", ["--net", "--map-root-user", "sh", "-euc", [...functions, script].join("\n")]);
}
