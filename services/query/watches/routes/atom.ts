import type { LoggedEvent } from "@noisefloor/clickhouse/watches/log.ts";
import { showInvisible } from "@noisefloor/domain/text/show-invisible.ts";
import { eventSchema } from "@noisefloor/domain/watches/event.ts";

/** Events as an Atom feed (RFC 4287), in the order given. What attackers wrote is text, and no markup. */
export function atomFeed(events: readonly LoggedEvent[], publicUrl: string): string {
  const entries = events.map(({ id, body }) => {
    const event = eventSchema.parse(JSON.parse(body));
    return `<entry><id>urn:uuid:${id}</id><title type="text">${escaped(event.summary)}</title>
<updated>${event.detected_at}</updated><link href="${escaped(event.link)}"/>
<category term="${event.type}"/><content type="text">${escaped(event.summary)}</content></entry>`;
  });
  const address = escaped(`${publicUrl}/v3/watches/events.atom`);
  const [newest] = events;
  const updated =
    newest === undefined ? "1970-01-01T00:00:00Z" : eventSchema.parse(JSON.parse(newest.body)).detected_at;
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${address}</id>
<title>Noisefloor: events of watches</title><author><name>Noisefloor</name></author>
<updated>${updated}</updated><link rel="self" href="${address}"/>
${entries.join("\n")}
</feed>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => showInvisible(text).replace(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
