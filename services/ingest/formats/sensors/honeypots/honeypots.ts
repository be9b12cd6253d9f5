import type { Fields } from "../../fields.ts";
import type { LogFormat } from "../../format.ts";
import { decodeHoneypot, type Honeypot } from "./honeypot.ts";
import { openOwnLines } from "./lines.ts";
import { PASSIVE_MONITORS } from "./passive.ts";
import { SERVICE_HONEYPOTS } from "./services.ts";
import { WEB_HONEYPOTS } from "./web.ts";

/** What each honeypot without a format of its own writes, by its name in lower case. */
export const HONEYPOTS: ReadonlyMap<string, Honeypot> = new Map(
  [...SERVICE_HONEYPOTS, ...WEB_HONEYPOTS, ...PASSIVE_MONITORS].map((honeypot) => [honeypot.name, honeypot]),
);
const TELLABLE = [...HONEYPOTS.values()].filter(({ recognizes }) => recognizes !== undefined);

/** The honeypot that wrote a record, told by members that only its records have. */
export function findHoneypot(record: Fields): Honeypot | undefined {
  return TELLABLE.find(({ recognizes }) => recognizes?.(record));
}

/** The logs of further honeypots, each of which T-Pot has too. */
export const otherHoneypots: LogFormat = {
  name: "other-honeypots",
  description: `the JSON logs of ${TELLABLE.map(({ name }) => name).join(", ")}`,
  json: {
    signs: `the members of one of ${TELLABLE.map(({ name }) => name).join(", ")}`,
    recognizes: (record) => findHoneypot(record) !== undefined,
    decode(record, options) {
      const honeypot = findHoneypot(record);
      if (honeypot !== undefined) return decodeHoneypot(honeypot, record, options);
      return { rejection: { reason: "unknown-format", detail: "the record is of none of these honeypots" } };
    },
  },
};

/**
 * The log of one honeypot each, whose every record is read as its own, also those that no member tells from others'.
 * `auto` has to tell them, so it has none of these.
 */
export const HONEYPOT_FORMATS: readonly LogFormat[] = [...HONEYPOTS.values()].map((honeypot) => ({
  name: `tpot-${honeypot.name}`,
  description: `the log of T-Pot's ${honeypot.name}`,
  json: {
    signs: `the members of ${honeypot.name}`,
    recognizes: () => true,
    decode: (record, options) => decodeHoneypot(honeypot, record, options),
  },
  text: {
    recognizes: () => true,
    open: () => {
      const isOwnLine = openOwnLines();
      return (line, options) => {
        const record = honeypot.readLine?.(line);
        if (record !== undefined) return decodeHoneypot(honeypot, record, options);
        if (isOwnLine(line)) return { ignored: "about-sensor" };
        return { rejection: { reason: "unknown-format", detail: `the line is no record of ${honeypot.name}` } };
      };
    },
  },
}));
