import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import type { Mail } from "@noisefloor/mail/send-mail.ts";
import type { Message } from "../message.ts";
import { MAX_SUMMARY, MAX_TITLE, plainLine } from "../plain-text.ts";

type Email = Extract<Destination, { type: "email" }>;

const MAX_LINES = 20;

/** A mail of plain text, with the first of what the event lists. */
export function mailOf({ to }: Email, { event }: Message): Mail {
  const lines = listed(event);
  const shown = lines.slice(0, MAX_LINES).map((line) => `  ${plainLine(line, MAX_SUMMARY)}`);
  const count = "count" in event.data ? event.data.count : 0;
  const more = count - shown.length;
  const list = [...shown, ...(shown.length > 0 && more > 0 ? [`  and ${more} more`] : [])];
  const paragraphs = [
    plainLine(event.summary, MAX_SUMMARY),
    list.join("\n"),
    event.link,
    `Watch "${plainLine(event.watch.name, MAX_TITLE)}", ${event.detected_at}`,
  ];
  return {
    to,
    subject: plainLine(event.summary, MAX_TITLE),
    text: `${paragraphs.filter((text) => text !== "").join("\n\n")}\n`,
    id: event.id,
  };
}

function listed({ type, data }: WatchEvent): string[] {
  switch (type) {
    case "network_seen":
    case "search_matches":
      return data.addresses.map(({ ip, classification, tags, last_seen }) =>
        [ip, classification, `last seen ${last_seen}`, ...tags].join("  "),
      );
    case "new_value":
      return data.values.map(({ value, addresses }) => `${value}  (${addresses} addresses)`);
    case "sensor_silent":
      return data.sensors.map(({ sensor, last_seen }) => `${sensor}  last seen ${last_seen}`);
    default:
      return [];
  }
}
