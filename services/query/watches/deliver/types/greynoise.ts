import type { EventAddress, WatchEvent } from "@noisefloor/domain/watches/event.ts";

/** What an alert is about, in the hosted service's words. */
const ALERT_TYPES = {
  network_seen: "ip",
  search_matches: "query",
  tag_rises: "tag",
  new_value: "query",
  sensor_silent: "sensor",
  test: "test",
} as const;

/** Whether a search asks for a classification: addresses that begin to match it got another one. */
const ASKS_CLASSIFICATION = /(?:^|[^\w.])classification\s*:/i;

/**
 * An event as the hosted service's webhooks tell it, each body for a request of its own. Its handlers for Splunk SOAR and
 * Google SecOps read `alert.type`, `classification`, `new_state` and `old_state` as texts, `data` as a list, and times of
 * whole seconds with Z; a body with both `alert` and `event_type` makes two cases.
 */
export function greynoiseBodies(event: WatchEvent, workspaceId: string): Record<string, unknown>[] {
  const timestamp = event.detected_at.replace(/\.\d+Z$/, "Z");
  if (event.type === "search_matches" && ASKS_CLASSIFICATION.test(event.data.query))
    return event.data.addresses.map(({ ip, classification }) => ({
      event_type: "ip-classification-change",
      ip,
      new_state: classification,
      old_state: "unknown",
      timestamp,
      workspace_id: workspaceId,
    }));
  if (event.type === "new_value" && event.data.field === "cve")
    return event.data.values.map(({ value, addresses }) => ({
      cve: value,
      event_type: "cve-status-change",
      metadata: {},
      new_state: cveState(addresses),
      old_state: cveState(0),
      timestamp,
    }));
  return [
    {
      timestamp,
      alert: { id: event.watch.id, name: event.watch.name, type: ALERT_TYPES[event.type], creator: "noisefloor" },
      data: addressesOf(event).map(({ ip, classification }) => ({ ip, classification })),
      viz_link: event.link,
      query_link: event.link,
      alert_link: event.link,
    },
  ];
}

const addressesOf = ({ data }: WatchEvent): readonly EventAddress[] => ("addresses" in data ? data.addresses : []);

/** The value was not seen before, so that its addresses are of any last days. */
function cveState(addresses: number) {
  return {
    activity_seen: addresses > 0,
    benign_ip_count_1d: 0,
    benign_ip_count_10d: 0,
    benign_ip_count_30d: 0,
    threat_ip_count_1d: addresses,
    threat_ip_count_10d: addresses,
    threat_ip_count_30d: addresses,
  };
}
