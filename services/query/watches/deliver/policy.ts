import { BlockList, isIP, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { embeddedIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { nameResolver } from "./resolve-name.ts";

/** Decides which addresses events may be sent to. */
export type DestinationPolicy = {
  /** What is wrong with an address, as "is this machine"; undefined when events may be sent to it. */
  whyRefused(address: string): string | undefined;
  /** For connections to a name: resolves to addresses that are allowed, so that the one that counts is the one connected to. */
  readonly lookup: LookupFunction;
};

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "is this machine": ["0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"],
  "is a link-local address": ["169.254.0.0/16", "fe80::/10", "fec0::/10"],
  // Those of clouds that are not link-local.
  "is a cloud's metadata service": [
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
  ],
  "is no address of one machine": ["224.0.0.0/3", "ff00::/8"],
};
const REFUSED_LISTS = Object.entries(REFUSED).map(([reason, networks]) => ({ reason, list: listOf(networks) }));

const ownAddresses = () =>
  Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);

/** @param exceptions addresses and networks that are allowed all the same. */
export function destinationPolicy(exceptions: readonly string[], resolve = nameResolver()): DestinationPolicy {
  const allowed = listOf(exceptions);
  const whyRefused = (address: string) => {
    const plain = address.replace(/%.*/, "");
    // An IPv6 address is also what its translator or tunnel makes of it.
    for (const form of [plain, ...embeddedIpv4(plain)]) {
      if (isIn(allowed, plain) || isIn(allowed, form)) continue;
      const reason = REFUSED_LISTS.find(({ list }) => isIn(list, form))?.reason;
      if (reason !== undefined) return reason;
      if (isIn(listOf(ownAddresses()), form)) return "is this machine";
    }
    return undefined;
  };
  return {
    whyRefused,
    lookup: (host, options, callback) => {
      resolve(host).then(
        (addresses) => {
          const [first, ...others] = addresses.filter(({ address }) => whyRefused(address) === undefined);
          const [{ address = "" } = {}] = addresses;
          if (first === undefined) callback(new Error(`${host}: ${address} ${whyRefused(address)}`), "", 0);
          else if (options.all) callback(null, [first, ...others]);
          else callback(null, first.address, first.family);
        },
        (error) => callback(error, "", 0),
      );
    },
  };
}

/** @throws Error when a host is an address that events may not be sent to: a connection to one looks nothing up. */
export function assertAllowed(host: string, { whyRefused }: DestinationPolicy): void {
  const reason = isIP(host) === 0 ? undefined : whyRefused(host);
  if (reason !== undefined) throw new Error(`${host} ${reason}`);
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", length] = network.replace(/%.*/, "").split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return list;
}

function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? "ipv4" : "ipv6");
}
