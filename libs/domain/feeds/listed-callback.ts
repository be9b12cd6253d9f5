/** A callback as lists have it. Times are RFC 3339 in UTC. */
export type ListedCallback = {
  /** An IPv4 address or a name. */
  readonly host: string;
  readonly kind: "address" | "name";
  /** When it was named. */
  readonly first_seen: string;
  readonly last_seen: string;
  /** How many addresses named it. */
  readonly visitors: number;
  readonly ports: readonly number[];
  readonly schemes: readonly string[];
};

export const CALLBACK_COLUMNS = [
  "host",
  "kind",
  "first_seen",
  "last_seen",
  "visitors",
  "ports",
  "schemes",
] as const satisfies readonly (keyof ListedCallback)[];

/** Its fields in the order of {@link CALLBACK_COLUMNS}, with spaces between those of a list. */
export const toCallbackFields = (callback: ListedCallback): string[] =>
  CALLBACK_COLUMNS.map((column) => {
    const value = callback[column];
    return typeof value === "object" ? value.join(" ") : String(value);
  });
