import type { ConditionOf, NewValueField, WatchCondition, WatchType } from "@noisefloor/domain/watches/watch.ts";
import { QueryInput } from "../../../search/completion/query-input.tsx";

/** The kinds of watches, by what a watch waits for. */
export const KINDS = [
  ["network_seen", "an address of a network is seen"],
  ["search_matches", "an address begins to match a search"],
  ["tag_rises", "a tag rises above what is usual"],
  ["new_value", "a path, CVE or tag is seen for the first time"],
  ["sensor_silent", "a sensor falls silent"],
] as const satisfies readonly (readonly [WatchType, string])[];

const FIELDS = [
  ["cve", "CVEs"],
  ["raw_data.http.path", "HTTP paths"],
  ["tags", "tags"],
] as const satisfies readonly (readonly [NewValueField, string])[];

const fieldNamed = (name: string): NewValueField => (FIELDS.find(([field]) => field === name) ?? FIELDS[0])[0];

/** A condition to begin with. @param value a query, network, tag or sensor; empty for none. */
export function emptyCondition(type: WatchType, value: string): WatchCondition {
  switch (type) {
    case "network_seen":
      return { type, networks: value === "" ? [] : [value] };
    case "search_matches":
      return { type, query: value };
    case "tag_rises":
      return { type, tag: value };
    case "new_value":
      return { type, field: fieldNamed(value), min_addresses: 3 };
    case "sensor_silent":
      return { type, sensors: value === "" ? [] : [value], after_minutes: 60 };
  }
}

type ConditionFieldsProps = {
  /** What the fields have at first. */
  readonly on: WatchCondition;
  /** The id of the element that says what is wrong. */
  readonly errorId: string;
};

/** The fields of a condition, which {@link readCondition} reads. */
export function ConditionFields({ on, errorId }: ConditionFieldsProps) {
  switch (on.type) {
    case "network_seen":
      return (
        <label>
          Networks
          <textarea name="networks" rows={3} required spellcheck={false} placeholder="198.51.100.0/24">
            {on.networks.join("\n")}
          </textarea>
          <span class="faint">IPv4 networks and addresses, one a line</span>
        </label>
      );
    case "search_matches":
      return (
        <div class="field">
          <span aria-hidden="true">Search</span>
          <QueryInput name="query" query={on.query} label="Search" errorId={errorId} />
        </div>
      );
    case "tag_rises":
      return (
        <label>
          Tag
          <input name="tag" defaultValue={on.tag} required autocomplete="off" spellcheck={false} placeholder="mirai" />
          <span class="faint">its slug; it is compared with two to eight weeks of before</span>
        </label>
      );
    case "new_value":
      return <NewValueFields {...on} />;
    case "sensor_silent":
      return (
        <>
          <label>
            Silent for
            <input name="after_minutes" type="number" min={5} max={7_200} defaultValue={on.after_minutes} required />
            <span class="faint">minutes</span>
          </label>
          <label>
            Sensors
            <textarea name="sensors" rows={2} spellcheck={false}>
              {on.sensors.join("\n")}
            </textarea>
            <span class="faint">their ids, one a line; empty for all that you may see</span>
          </label>
        </>
      );
  }
}

function NewValueFields({ field, min_addresses: min }: ConditionOf<"new_value">) {
  return (
    <>
      <label>
        New
        <select name="field">
          {FIELDS.map(([each, text]) => (
            <option key={each} value={each} selected={each === field}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Once
        <input name="min_addresses" type="number" min={1} max={1_000} defaultValue={min} required />
        <span class="faint">addresses have it</span>
      </label>
    </>
  );
}

/** The condition that the fields of a kind have. */
export function readCondition(type: WatchType, data: FormData): WatchCondition {
  const text = (name: string) => String(data.get(name) ?? "").trim();
  switch (type) {
    case "network_seen":
      return {
        type,
        networks: text("networks")
          .split(/[\s,]+/)
          .filter(isThere),
      };
    case "search_matches":
      return { type, query: text("query") };
    case "tag_rises":
      return { type, tag: text("tag") };
    case "new_value":
      return { type, field: fieldNamed(text("field")), min_addresses: Number(text("min_addresses")) };
    case "sensor_silent": {
      const sensors = text("sensors")
        .split("\n")
        .map((line) => line.trim());
      return { type, sensors: sensors.filter(isThere), after_minutes: Number(text("after_minutes")) };
    }
  }
}

const isThere = (text: string) => text !== "";
