import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import type { BenignNetworks } from "../address/benign-networks.ts";
import type { AddressSet } from "../conditions/address-set.ts";
import type { Bits } from "./bits.ts";
import type { Ordinals } from "./ordinals.ts";

type Listed = Extract<AddressSet, { readonly type: "listed" }>;

/** Addresses that are looked up before others get their turn: some milliseconds. */
const ADDRESSES_PER_STEP = 20_000;

/** Which addresses are in the networks of which lists: each address is looked up once. */
export class ListedAddresses {
  readonly networks: BenignNetworks;
  /** By kind: for each ordinal the number of its list, from 1 on, and 0 without one. */
  readonly #lists = new Map<NetworkKind, { numbers: Uint16Array; upTo: number }>();

  constructor(networks: BenignNetworks) {
    this.networks = networks;
  }

  get bytes(): number {
    return [...this.#lists.values()].reduce((sum, { numbers }) => sum + numbers.byteLength, 0);
  }

  /** Sets the bits of the addresses in the networks of a set's lists. */
  *mark({ kind, lists }: Listed, ordinals: Ordinals, into: Bits): Generator<void, void> {
    const count = Math.min(ordinals.size, into.length * 32);
    const { numbers } = yield* this.#numbersOf(kind, ordinals, count);
    const ids = [...this.networks.lists[kind].keys()];
    const isIn = Uint8Array.from([0, ...ids.map((id) => Number(lists === "any" || lists.includes(id)))]);
    for (let ordinal = 0; ordinal < count; ordinal++) {
      if (isIn[numbers[ordinal] ?? 0] === 1) into[ordinal >>> 5] = (into[ordinal >>> 5] ?? 0) | (1 << ordinal);
    }
  }

  *#numbersOf(kind: NetworkKind, ordinals: Ordinals, count: number) {
    const listed = this.#lists.get(kind) ?? { numbers: new Uint16Array(), upTo: 0 };
    this.#lists.set(kind, listed);
    if (listed.numbers.length < count) {
      const longer = new Uint16Array(Math.ceil(count * 1.1));
      longer.set(listed.numbers);
      listed.numbers = longer;
    }
    const find = this.networks[kind];
    const numberOf = new Map([...this.networks.lists[kind].values()].map((list, index) => [list, index + 1]));
    while (listed.upTo < count) {
      const end = Math.min(count, listed.upTo + ADDRESSES_PER_STEP);
      for (; listed.upTo < end; listed.upTo++) {
        const list = find(ordinals.addressOf(listed.upTo));
        listed.numbers[listed.upTo] = list === undefined ? 0 : (numberOf.get(list) ?? 0);
      }
      yield;
    }
    return listed;
  }
}
