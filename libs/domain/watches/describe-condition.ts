import type { NewValueField, WatchCondition } from "./watch.ts";

const FIELDS: Readonly<Record<NewValueField, string>> = {
  "raw_data.http.path": "an HTTP path",
  cve: "a CVE",
  tags: "a tag",
};

/** What a watch waits for, in words. It has what callers wrote: the query, names of sensors. */
export function describeCondition(on: WatchCondition): string {
  switch (on.type) {
    case "network_seen":
      return `an address of ${some(on.networks, "networks")} is seen`;
    case "search_matches":
      return `an address begins to match ${on.query}`;
    case "tag_rises":
      return `the tag ${on.tag} rises above what is usual`;
    case "new_value": {
      const by = on.min_addresses === 1 ? "" : `, by ${on.min_addresses} or more addresses`;
      return `${FIELDS[on.field]} is seen for the first time${by}`;
    }
    case "sensor_silent": {
      const which = on.sensors.length === 0 ? "a sensor" : `the sensor ${some(on.sensors, "sensors")}`;
      return `${which} sends nothing for ${on.after_minutes} minutes`;
    }
  }
}

const SHOWN = 3;

/** `a`, `a or b`, `a, b or 5 other networks`. */
function some(names: readonly string[], plural: string): string {
  const shown = names.length <= SHOWN ? names : names.slice(0, SHOWN - 1);
  const more = names.length - shown.length;
  const last = more > 0 ? `${more} other ${plural}` : shown.at(-1);
  const before = more > 0 ? shown : shown.slice(0, -1);
  return before.length === 0 ? `${last}` : `${before.join(", ")} or ${last}`;
}
