import type { Classification } from "@noisefloor/domain/tags/classification.ts";

/** What the service knows of an address. Times in milliseconds since 1970 UTC. */
export type AddressRecord = {
  /** Present when sensors saw the address scan inside the retention window. */
  readonly noise?: NoiseRecord;
  /** Present when the address is in the networks of a benign service. */
  readonly riot?: RiotRecord;
};

/** The part of an {@link AddressRecord} that a lookup of a single address needs. */
export type AddressSummary = {
  readonly noise?: NoiseSummary | undefined;
  readonly riot?: RiotRecord | undefined;
};

export type NoiseSummary = {
  readonly lastSeen: number;
  readonly classification: Classification;
  /** Whether none of its observations proves contact, so that it could be forged: see `provesContact`. */
  readonly isSpoofable: boolean;
  /** Whether sensors saw a login, a command, a download or a payload of it: see `isAttack`. */
  readonly hasAttacked: boolean;
  /** The known benign actor in whose networks the address is. */
  readonly actor?: string | undefined;
};

export type NoiseRecord = NoiseSummary & {
  readonly tagIds: readonly string[];
};

export type RiotRecord = {
  readonly name: string;
  readonly category: string;
  readonly description: string;
  readonly explanation: string;
  readonly reference: string;
  readonly trustLevel: string;
  readonly refreshedAt: number;
};

/** Looks up one address in the global dataset. */
export type LookUpAddress = (ip: string) => Promise<AddressSummary>;
