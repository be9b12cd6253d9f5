import { at, type Fields, textAt } from "../../fields.ts";
import { isEstablishedFlow } from "./suricata/eve-contact.ts";
import { isCompletedHandshake } from "./zeek/zeek-contact.ts";

/** Modules and agents that see what passes by: a request that they tell of may have got no answer. */
const PASSIVE = /^(?:zeek|suricata|corelight|packetbeat|network_traffic)\b/;
/** What only a server says. */
const SERVER_MEMBERS = [
  "http.response.status_code",
  "suricata.eve.ssh.server",
  "tls.cipher",
  "tls.server.ja3s",
  "tls.server.subject",
  "zeek.ssh.server",
];

/**
 * Whether a record of a passive monitor proves that both ends of its connection receive what is sent to them; undefined
 * for those of other sensors.
 */
export function ecsContact(record: Fields): boolean | undefined {
  const isPassive =
    ["zeek", "suricata"].some((name) => name in record) ||
    ["event.module", "event.dataset", "agent.type"].some((path) => PASSIVE.test(textAt(record, path) ?? ""));
  if (!isPassive) return undefined;
  return (
    isCompletedHandshake(textAt(record, "zeek.connection.state"), textAt(record, "zeek.connection.history")) ||
    (textAt(record, "suricata.eve.event_type") === "flow" && isEstablishedFlow(record, "suricata.eve.")) ||
    SERVER_MEMBERS.some((path) => at(record, path) !== undefined)
  );
}
