import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import type { SeenFlow } from "@noisefloor/domain/sensors/own-address.ts";
import type { TimeZone } from "@noisefloor/domain/time/zone.ts";
import type { Fields } from "./fields.ts";
import type { Envelope } from "./wrapped/envelope.ts";
import type { VisitBudget } from "./wrapped/find-records.ts";

/** What the formats have to know about where the records come from. */
export type DecodeOptions = {
  /** Milliseconds since 1970 UTC: the time of a record that has none. */
  readonly now: () => number;
  /** The sensor of all records, whatever they say. Left out, each record's own word counts, else its format's name. */
  readonly sensorId?: string | undefined;
  /** Whether an address is one of the sensors' own: passive monitors log both directions. */
  readonly isOwnAddress: (address: string) => boolean;
  /** The port that the Internet sees, for one that a sensor in a container listens on. */
  readonly publicPort: (port: number) => number;
  /** What the shipper around the records says about them. */
  readonly envelope?: Envelope | undefined;
  /** Whether packets count that a packet filter let in: visitors of one's own services, and scanners among them. */
  readonly countsAccepted: boolean;
  /**
   * The zone of a sensor's times that name none; undefined, and where it is left out, UTC.
   * @param writesUtc whether only a zone that names the sensor or the format counts.
   */
  readonly timeZoneOf?: ((sensor: string, format: string, writesUtc?: true) => TimeZone | undefined) | undefined;
  /** See `TimeOptions`. */
  readonly latestTime?: number | undefined;
  /** What a request may still spend on wrappers; left out, as much as each record may. */
  readonly visits?: VisitBudget | undefined;
  /** Called for each flow of a passive monitor that becomes an observation. */
  readonly onFlow?: ((flow: SeenFlow) => void) | undefined;
};

/**
 * Why a record is known to be no observation. Whatever else a format cannot read is rejected: only these are counted
 * and forgotten. Metrics and responses contain the names: never change a meaning.
 */
export const IGNORED = {
  "about-sensor": "the sensor reports about itself: statistics, a listening socket, its start or stop",
  "own-traffic": "the sensor's side began it: an own address is the source, or the record says outbound",
  "no-behaviour": "it says nothing about what the source did, or repeats another record",
  answer: "it answers a packet or a request: SYN-ACK, RST or FIN alone, a DNS response, a server's half of a flow",
  "icmp-error": "an ICMP error, which answers a packet that it quotes",
  "accepted-visit": "a packet filter let the packet in, and the settings say that such visitors are no scanners",
  operator: "the operator's own visit, who logged in to the sensor's web server",
  "other-program": "a line of another program in the same system log",
  header: "a header or a comment of a text log",
} as const;
export type IgnoredReason = keyof typeof IGNORED;

/** A record as an observation of the wire schema, not validated yet, or why it is not one. */
export type Decoded =
  | {
      readonly observation: Fields;
      /** The address that the source sent to, in a passive monitor's record. */
      readonly destination?: string | undefined;
      /** Its time names no zone, and no setting says which it is: it was read as UTC. */
      readonly isZoneless?: true;
      /** Its time is when the sensor gave up waiting for an answer: others of its session say better when that began. */
      readonly isLate?: true;
    }
  | { readonly ignored: IgnoredReason }
  | { readonly rejection: Rejection };

/** A kind of log and how its records become observations. */
export type LogFormat = {
  readonly name: string;
  /** Half a line for the command line's help. */
  readonly description: string;
  /** Formats whose records are JSON objects. Times that cannot be read are passed on, so that the rejection shows them. */
  readonly json?: {
    /** The members by which its records are told from others, for people whose record has none of them. */
    readonly signs: string;
    /** Whether an object shows that it is one of its records; the first format that says so decodes it. */
    recognizes(record: Fields): boolean;
    /** Whether an object that no format recognises is one of its records, by members that others may have, too. */
    resembles?(record: Fields): boolean;
    decode(record: Fields, options: DecodeOptions): Decoded;
  };
  /** Formats of text lines. */
  readonly text?: {
    recognizes(line: string): boolean;
    /** Begins a stream: a header holds for the lines after it. */
    open(): (line: string, options: DecodeOptions) => Decoded;
  };
};

/** What became of a record's bytes. A record without any of the members cannot be read as JSON. */
export type FileRecord = {
  /** The record as it came. */
  readonly bytes: Buffer;
  /** The record as an observation of the wire schema, not validated yet. */
  readonly value?: unknown;
  readonly rejection?: Rejection;
  readonly ignored?: IgnoredReason;
  /** Its time was read as UTC for want of a zone. */
  readonly isZoneless?: true;
  /** As in {@link Decoded}. */
  readonly isLate?: true;
  /** The name of the format that has read it; left out, it is an observation of the wire schema. */
  readonly format?: string;
};
