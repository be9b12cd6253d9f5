import { addressLines, LINES } from "./address-lines.ts";
import type { Form } from "./form.ts";

/** How long resolvers may keep an answer, in seconds. */
const TTL = 300;

/**
 * A zone of rbldnsd's type `ip4set`: a DNS block list. Every listed address answers 127.0.0.2 and a text; so does the
 * test address 127.0.0.2, as RFC 5782 wants it. One $TTL, since the last one of a file holds for all of it.
 */
export const dnsbl: Form = {
  name: "dnsbl",
  contentType: "text/plain; charset=utf-8",
  reads: "addresses",
  parameters: [],
  open: () => ({
    variant: "",
    *writeList({ feed, addresses }) {
      // rbldnsd puts the address in question in place of $.
      yield `$TTL ${TTL}\n:127.0.0.2:$ is in the feed ${feed.name}\n127.0.0.2\n`;
      yield* addressLines(addresses, "", "\n");
    },
  }),
};

/**
 * A response policy zone: names that resolve to a listed address do not exist. Its names are relative to any origin.
 */
export const rpz: Form = {
  name: "rpz",
  contentType: "text/plain; charset=utf-8",
  reads: "addresses",
  parameters: [],
  open: () => ({
    variant: "",
    *writeList({ feed, addresses }) {
      const serial = Math.floor(feed.revisedAt.getTime() / 1_000);
      yield `$TTL ${TTL}\n@ IN SOA localhost. root.localhost. ${serial} 3600 600 604800 ${TTL}\n@ IN NS localhost.\n`;
      for (let start = 0; start < addresses.length; start += LINES) {
        yield Array.from(addresses.subarray(start, start + LINES), formatTrigger).join("");
      }
    },
  }),
};

/** 203.0.113.7 → `32.7.113.0.203.rpz-ip`, which has its octets in reverse behind the prefix length. */
function formatTrigger(address: number): string {
  const reverse = `${address & 255}.${(address >>> 8) & 255}.${(address >>> 16) & 255}.${address >>> 24}`;
  return `32.${reverse}.rpz-ip IN CNAME .\n`;
}
