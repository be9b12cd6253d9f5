import { ipv4ToNumber, isIpv4, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { indicatorUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { FeedChanges, FeedHead, FeedItem, FeedList, FeedObject } from "@noisefloor/query/feeds/feed-content.ts";
import { FORMS } from "@noisefloor/query/feeds/forms/forms.ts";

export const FEED: FeedHead = {
  id: "5b7f2f5e-8a4e-4d2b-9c59-1f6c2a3b4d5e",
  name: "recent",
  of: "visitors",
  description: "Malicious or suspicious in the last three days",
  cursor: "cursor-2",
  listedAt: new Date("2026-11-20T14:05:00Z"),
  count: 0,
  truncated: false,
  ttlHours: 24,
};

type Known = Partial<Omit<FeedItem, "ip">>;

const UNREMARKABLE: Omit<FeedItem, "ip"> = {
  firstSeen: new Date("2026-11-18T08:00:00Z"),
  lastSeen: new Date("2026-11-20T13:59:58Z"),
  classification: "malicious",
  tags: ["mirai", "ssh-bruteforcer"],
  asn: 4134,
  organization: "Example Networks",
  country: "VN",
  spoofable: false,
};

export const CALLBACK_FEED: FeedHead = { ...FEED, name: "edge", of: "callbacks", ttlHours: 72 };

/** A list of these addresses, in numeric order, and names. @param known what is said of single ones, by address. */
export function makeList(
  hosts: Iterable<string>,
  known: Readonly<Record<string, Known>> = {},
  head: FeedHead = FEED,
): FeedList {
  const addresses = Uint32Array.from([...hosts].filter(isIpv4), ipv4ToNumber).sort();
  const names = [...hosts].filter((host) => !isIpv4(host)).sort();
  return {
    feed: { ...head, count: addresses.length + names.length },
    addresses,
    names,
    items: () => itemsOf([...Array.from(addresses, numberToIpv4), ...names], known, head),
    objects: () => objectsOf(addresses, known),
  };
}

/** What leads from one list to another. */
export function makeChanges(
  before: FeedList,
  after: FeedList,
  known: Readonly<Record<string, Known>> = {},
): FeedChanges {
  const [old, current] = [new Set(before.addresses), new Set(after.addresses)];
  const added = after.addresses.filter((address) => !old.has(address));
  const removed = before.addresses.filter((address) => !current.has(address));
  const addedNames = after.names.filter((name) => !before.names.includes(name));
  const removedNames = before.names.filter((name) => !after.names.includes(name));
  const items = () => itemsOf([...Array.from(added, numberToIpv4), ...addedNames], known, after.feed);
  const objects = async function* () {
    yield* objectsOf(added, known);
    yield* objectsOf(removed, known, true);
  };
  return { feed: after.feed, since: "cursor-1", added, removed, addedNames, removedNames, items, objects };
}

/** In blocks of two, so that every form meets several. */
async function* itemsOf(hosts: readonly string[], known: Readonly<Record<string, Known>>, { of }: FeedHead = FEED) {
  for (let start = 0; start < hosts.length; start += 2) {
    yield hosts.slice(start, start + 2).map((ip): FeedItem => {
      const kind = isIpv4(ip) ? "address" : "name";
      const naming = of === "callbacks" && {
        naming: { kind, visitors: 2, ports: [80, 443], schemes: ["http"] } as const,
      };
      return { ip, ...UNREMARKABLE, ...naming, ...known[ip] };
    });
  }
}

export async function* objectsOf(
  addresses: Uint32Array,
  known: Readonly<Record<string, Known>> = {},
  isRevoked = false,
) {
  for await (const block of itemsOf(Array.from(addresses, numberToIpv4), known)) {
    yield block.map(
      ({ ip, firstSeen, lastSeen, classification, tags, spoofable }): FeedObject => ({
        id: indicatorUuidOf(ip),
        ip,
        link: `https://noisefloor.example.org/ip/${ip}`,
        createdAt: firstSeen,
        modifiedAt: new Date(lastSeen.getTime() + 1_500),
        firstSeen,
        lastSeen,
        validUntil: new Date(lastSeen.getTime() + FEED.ttlHours * HOUR_MS),
        classification,
        tags,
        spoofable,
        isRevoked,
      }),
    );
  }
}

/** A list, or changes, as the form says them. */
export async function writeForm(
  name: string,
  content: FeedList | FeedChanges,
  query: Readonly<Record<string, string>> = {},
): Promise<Buffer> {
  const form = FORMS.find((each) => each.name === name);
  if (form === undefined) throw new Error(`there is no form ${name}`);
  const { writeList, writeChanges } = form.open(query);
  const chunks = "addresses" in content ? writeList(content) : writeChanges?.(content);
  if (chunks === undefined) throw new Error(`${name} has no changes`);
  const pieces: Buffer[] = [];
  for await (const chunk of chunks) pieces.push(Buffer.from(chunk));
  return Buffer.concat(pieces);
}
