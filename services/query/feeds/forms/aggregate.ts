import { type Ipv4Network, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { boolean } from "@noisefloor/http/requests/parameters.ts";

export const AGGREGATE = boolean({
  name: "aggregate",
  description:
    "Whether neighbouring addresses become CIDR blocks, for firewalls with room for few entries. A block stands only where every address of it is listed.",
});

/** Blocks in a chunk of a body. */
const BLOCKS = 4_096;

/**
 * The fewest CIDR blocks that have exactly these addresses, ascending.
 * @param addresses in numeric order, each once.
 */
function* toBlocks(addresses: Uint32Array): Generator<Ipv4Network> {
  for (let index = 0; index < addresses.length; ) {
    const first = addresses[index] ?? 0;
    let run = 1;
    while (addresses[index + run] === first + run) run++;
    index += run;
    for (let next = first; next < first + run; ) {
      let length = 32;
      // Twice as wide, while that begins here and does not end behind the run.
      while (next % 2 ** (33 - length) === 0 && next + 2 ** (33 - length) <= first + run) length--;
      yield { first: next, length };
      next += 2 ** (32 - length);
    }
  }
}

/** The blocks as texts, some thousands at a time: `192.0.2.0/25`, or the bare address where it is one. */
export function* blockTexts(addresses: Uint32Array): Generator<string[]> {
  let texts: string[] = [];
  for (const { first, length } of toBlocks(addresses)) {
    texts.push(length === 32 ? numberToIpv4(first) : `${numberToIpv4(first)}/${length}`);
    if (texts.length < BLOCKS) continue;
    yield texts;
    texts = [];
  }
  if (texts.length > 0) yield texts;
}
