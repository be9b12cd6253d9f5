import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import type { SeenFlow } from "@noisefloor/domain/sensors/own-address.ts";
import type { Fields } from "./fields.ts";

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
  /** Called for each flow of a passive monitor that becomes an observation. */
  readonly onFlow?: ((flow: SeenFlow) => void) | undefined;
};

/**
 * Why a record of a sensor's log is no observation: it names no source, it is traffic that the sensor itself began, or
 * it says nothing about what the source did.
 */
export const IGNORED_REASONS = ["no-source", "own-traffic", "no-behaviour"] as const;
export type IgnoredReason = (typeof IGNORED_REASONS)[number];

/** A record as an observation of the wire schema, not validated yet, or why it is none. */
export type Decoded =
  | {
      readonly observation: Fields;
      /** Of a passive monitor's record: the address that the source sent to. */
      readonly destination?: string | undefined;
    }
  | { readonly ignored: IgnoredReason };

/** A kind of log and how its records become observations. */
export type LogFormat = {
  readonly name: string;
  /** Half a line for the command line's help. */
  readonly description: string;
  /** Formats whose records are JSON objects. Times that cannot be read are passed on, so that the rejection shows them. */
  readonly json?: {
    /** Whether an object looks like one of its records; the first format that says so decodes it. */
    recognizes(record: Fields): boolean;
    decode(record: Fields, options: DecodeOptions): Decoded;
  };
  /** Formats of text lines. */
  readonly text?: {
    recognizes(line: string): boolean;
    /** Begins a stream: a header holds for the lines after it. @returns undefined for a line that is no record. */
    open(): (line: string, options: DecodeOptions) => Decoded | undefined;
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
  /** The name of the format that has read it; left out, it is an observation of the wire schema. */
  readonly format?: string;
};
