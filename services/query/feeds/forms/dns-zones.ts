import { type Parameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import type { FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines, LINES, nameLines } from "./address-lines.ts";

/** How long resolvers may keep an answer, that an address is not listed included, in seconds. */
const TTL = 300;
/** How often a list may change, in seconds: readers of a zone fetch it this often, and again after a failure. */
const REFRESH = 60;
const EXPIRE = 604_800;

/** Grows with each list of the feed: it is a second that no other of its lists has. */
const serialOf = ({ listedAt }: FeedHead) => Math.floor(listedAt.getTime() / 1_000);

const NAME = /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$/;
const NS: Parameter<string | undefined> = {
  name: "ns",
  description:
    "The host name of the server that answers for the zone: written as `$NS`. Resolvers follow it, so there is none by default.",
  schema: z.string().max(253).regex(NAME).optional(),
  takes: "a host name",
  describedBy: "output",
  example: "ns1.example.org",
};

/**
 * A zone of rbldnsd's type `ip4set`: a DNS block list. Every listed address answers 127.0.0.2 and a text; so does the
 * test address 127.0.0.2, as RFC 5782 wants it. One $TTL, since the last one of a file holds for all of it. Without
 * $SOA resolvers keep no answer about an address that is not listed.
 */
export const dnsbl: Form = {
  name: "dnsbl",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  parameters: [NS],
  open: (query) => {
    const ns = readParameter(query, NS);
    return {
      variant: ns ?? "",
      *writeList({ feed, addresses }) {
        const times = `${serialOf(feed)} ${REFRESH} ${REFRESH} ${EXPIRE} ${TTL}`;
        yield `$SOA ${TTL} ${ns ?? "localhost"}. root.localhost. ${times}\n`;
        if (ns !== undefined) yield `$NS ${TTL} ${ns}.\n`;
        // rbldnsd puts the address in question in place of $.
        yield `$TTL ${TTL}\n:127.0.0.2:$ is in the feed ${feed.name}\n127.0.0.2\n`;
        yield* addressLines(addresses, "", "\n");
      },
    };
  },
};

/**
 * A response policy zone: listed names and all below them do not exist, nor do names that resolve to a listed address. Its
 * names are relative to any origin.
 */
export const rpz: Form = {
  name: "rpz",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  parameters: [],
  open: () => ({
    variant: "",
    *writeList({ feed, addresses, names }) {
      const times = `${serialOf(feed)} ${REFRESH} ${REFRESH} ${EXPIRE} ${TTL}`;
      yield `$TTL ${TTL}\n@ IN SOA localhost. root.localhost. ${times}\n@ IN NS localhost.\n`;
      for (let start = 0; start < addresses.length; start += LINES) {
        yield Array.from(addresses.subarray(start, start + LINES), formatTrigger).join("");
      }
      yield* nameLines(names, (name) => `${name} IN CNAME .\n*.${name} IN CNAME .\n`);
    },
  }),
};

/** 203.0.113.7 → `32.7.113.0.203.rpz-ip`, which has its octets in reverse behind the prefix length. */
function formatTrigger(address: number): string {
  const reverse = `${address & 255}.${(address >>> 8) & 255}.${(address >>> 16) & 255}.${address >>> 24}`;
  return `32.${reverse}.rpz-ip IN CNAME .\n`;
}
