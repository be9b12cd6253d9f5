import { isRoutableIpv4, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { AddressFacts, NetworkRanges } from "@noisefloor/ingest/rows/enrichment/facts.ts";
import { pick, type Random, seededRandom, weightedPick } from "../random.ts";

/** A network from which simulated scanners come; `first` is the first address of its 256. */
export type Block = {
  readonly first: number;
  readonly country: string;
  /** Rented machines scan day and night; those at home and at work follow their owners' day. */
  readonly isHosting: boolean;
};

export type Networks = {
  /** Draws a block as real scanners are spread over countries and networks. */
  draw(random: Random): Block;
  /** Draws one at home or at work in a country. */
  drawHome(country: string, random: Random): Block;
  /** Whether blocks come from a database, which also knows their countries. */
  readonly areReal: boolean;
};

export type NetworksOptions = {
  readonly seed: number;
  /** Undefined without a database of networks. */
  readonly ranges: NetworkRanges | undefined;
  readonly factsOf: (ip: string) => AddressFacts;
  /** Whether scanners never come from there, as from a well-known service. */
  readonly isTaken: (address: number) => boolean;
};

/**
 * Per mille of the sources in public honeypot logs (2013 to 2023: SSH, Telnet, SMB, Docker, Modbus), by country. The
 * sources' networks are those of today; surveys of benign operators are left out.
 */
const COUNTRIES =
  "CN 328,US 196,BR 31,TW 26,RU 26,IN 22,DE 22,SG 22,FR 21,NL 20,KR 17,VN 16,HK 14,JP 11,GB 10,ID 8,TH 8,CA 7,TR 7,IT 6," +
  "RO 6,MX 5,PL 4,UA 4,ES 4,IR 4,SE 4,AR 4,BG 4,VE 3,PT 3,EG 3,CO 3,HU 3,PH 3,AU 3,BE 2,MY 2,CZ 2,CL 2,IE 2,NO 2,KZ 2," +
  "PK 1,SA 1,EE 1,FI 1,ZA 1,BD 1,LV 1,IL 1,LT 1,AE 1,GR 1,NP 1,GE 1,MD 1,NG 1,PA 1,CH 1,KH 1";

/** The same by network and country. With an h, a network of rented machines. */
const BUSY =
  "14061 US 83 h,37963 CN 76 h,45090 CN 68 h,4134 CN 59,4837 CN 27,396982 US 27 h,3462 TW 21,38365 CN 14 h,8075 US 14 h," +
  "16276 FR 10 h,4766 KR 10,37963 SG 9 h,4808 CN 9,16509 US 6 h,63949 US 6 h,9808 CN 6,45899 VN 6,49453 NL 5 h,7552 VN 5," +
  "9829 IN 5,55990 CN 4 h,12389 RU 4,14618 US 4 h,9121 TR 4,14061 DE 4 h,14061 SG 4 h,45102 US 4 h,4812 CN 4,51167 FR 4 h," +
  "202425 NL 3 h,7922 US 3,7713 ID 3,4811 CN 3,12876 FR 3 h,8048 VE 3,58461 CN 3,27699 BR 3,45102 SG 3 h,36352 US 3 h," +
  "23969 TH 3,10439 US 3 h,8452 EG 3,18403 VN 3,23724 CN 2,28573 BR 2,4847 CN 2,14061 NL 2 h,14061 IN 2 h,3269 IT 2," +
  "14061 GB 2 h,16276 CA 2 h,3786 KR 2,8402 RU 2,35042 DE 2 h,7018 US 2,53667 US 2 h,9318 KR 2,209847 PT 2 h,396982 BE 2 h";

type Busy = {
  readonly asn: number;
  readonly country: string;
  readonly share: number;
  readonly isHosting: boolean;
};

const COUNTRY_SHARES = COUNTRIES.split(",").map((entry) => {
  const [country = "", share] = entry.split(" ");
  return { country, share: Number(share) };
});
const BUSY_NETWORKS: readonly Busy[] = BUSY.split(",").map((entry) => {
  const [asn, country = "", share, kind] = entry.split(" ");
  return { asn: Number(asn), country, share: Number(share), isHosting: kind === "h" };
});

const BLOCKS_PER_NETWORK = 48;
const TRIES_PER_NETWORK = 2_000;
/** Draws over all networks; a country with a thousandth of all addresses gets some forty blocks. */
const DRAWS = 40_000;
const SIZE = 256;
/** So large are ranges of providers. Most others belong to firms, which seldom scan and must not be slandered. */
const PROVIDER = 8_191;

/** Draws the networks of the simulated scanners: the same for the same seed and databases. */
export function openNetworks({ seed, ranges, factsOf, isTaken }: NetworksOptions): Networks {
  const random = seededRandom(seed);
  const isGood = (first: number) =>
    isRoutableIpv4(numberToIpv4(first)) && !isTaken(first) && !isTaken(first + SIZE - 1);
  if (ranges === undefined) return madeUpNetworks(random, isGood);
  const homes = blocksByCountry(ranges, { random, factsOf, isGood });
  const busy = busyBlocks(ranges, { random, factsOf, isGood });
  const named = new Map<string, number>();
  for (const { country, share } of BUSY_NETWORKS) named.set(country, (named.get(country) ?? 0) + share);
  const drawNetwork = weightedPick<readonly Block[]>([
    ...busy,
    ...COUNTRY_SHARES.map(
      ({ country, share }) => [homes.get(country) ?? [], Math.max(share - (named.get(country) ?? 0), 0.5)] as const,
    ).filter(([blocks]) => blocks.length > 0),
  ]);
  const all = [...homes.values()].flat();
  return {
    areReal: true,
    draw: (random) => pick(drawNetwork(random()), random()),
    drawHome: (country, random) => pick(homes.get(country) ?? all, random()),
  };
}

type Search = {
  readonly random: Random;
  readonly factsOf: (ip: string) => AddressFacts;
  readonly isGood: (first: number) => boolean;
};

const firstOf = (address: number) => address - (address % SIZE);

/** Blocks drawn over all announced addresses, by the country that the databases give them. */
function blocksByCountry(ranges: NetworkRanges, { random, factsOf, isGood }: Search): Map<string, Block[]> {
  const blocks = new Map<string, Block[]>();
  const large = Array.from({ length: ranges.size }, (_, range) => range).filter(
    (range) => (ranges.asn[range] ?? 0) > 0 && (ranges.last[range] ?? 0) - (ranges.first[range] ?? 0) >= PROVIDER,
  );
  for (let drawn = 0; drawn < DRAWS; drawn++) {
    // By range, not by address: else the few largest networks, many of them empty, would have nearly all.
    const range = pick(large, random());
    const [first = 0, last = 0] = [ranges.first[range], ranges.last[range]];
    const block = firstOf(first + Math.floor(random() * (last - first + 1)));
    const { country } = factsOf(numberToIpv4(block + 1));
    if (country === undefined || !isGood(block)) continue;
    const countryBlocks = blocks.get(country) ?? [];
    countryBlocks.push({ first: block, country, isHosting: random() < 0.2 });
    blocks.set(country, countryBlocks);
  }
  return blocks;
}

function busyBlocks(ranges: NetworkRanges, search: Search): (readonly [Block[], number])[] {
  const wanted = new Map<number, number[]>(BUSY_NETWORKS.map(({ asn }) => [asn, []]));
  for (let range = 0; range < ranges.size; range++) wanted.get(ranges.asn[range] ?? 0)?.push(range);
  return BUSY_NETWORKS.flatMap((network) => {
    const blocks = blocksOf(network, ranges, wanted.get(network.asn) ?? [], search);
    return blocks.length === 0 ? [] : [[blocks, network.share] as const];
  });
}

function blocksOf(
  { country, isHosting }: Busy,
  { first, last }: NetworkRanges,
  ranges: readonly number[],
  { random, factsOf, isGood }: Search,
): Block[] {
  const blocks: Block[] = [];
  if (ranges.length === 0) return blocks;
  for (let tries = 0; tries < TRIES_PER_NETWORK && blocks.length < BLOCKS_PER_NETWORK; tries++) {
    const range = pick(ranges, random());
    const [from = 0, to = 0] = [first[range], last[range]];
    const block = firstOf(from + Math.floor(random() * (to - from + 1)));
    if (factsOf(numberToIpv4(block + 1)).country !== country || !isGood(block)) continue;
    blocks.push({ first: block, country, isHosting });
  }
  return blocks;
}

/** Without a database: routable blocks anywhere, which are said to be in the countries by their shares. */
function madeUpNetworks(random: Random, isGood: (first: number) => boolean): Networks {
  const drawCountry = weightedPick(COUNTRY_SHARES.map(({ country, share }) => [country, share] as const));
  const inCountry = new Map<string, Block[]>();
  const all: Block[] = [];
  while (all.length < 4_000) {
    const first = firstOf(Math.floor((1 + random() * 222) * 2 ** 24));
    if (!isGood(first)) continue;
    const block = { first, country: drawCountry(random()), isHosting: random() < 0.5 };
    all.push(block);
    inCountry.set(block.country, [...(inCountry.get(block.country) ?? []), block]);
  }
  return {
    areReal: false,
    draw: (random) => pick(all, random()),
    drawHome: (country, random) => pick(inCountry.get(country) ?? all, random()),
  };
}
