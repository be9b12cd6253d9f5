export const DAYS = ["1", "7", "14", "30", "60", "90"] as const;
export const WIDTHS = ["1h", "4h", "12h", "24h", "168h"] as const;
export const SCOPES = ["global", "community", "personal"] as const;
export const DEFAULTS = { days: "7", width: "4h", scopes: "" };

export const WIDTH_NAMES: readonly (readonly [(typeof WIDTHS)[number], string])[] = [
  ["1h", "1 hour"],
  ["4h", "4 hours"],
  ["12h", "12 hours"],
  ["24h", "1 day"],
  ["168h", "1 week"],
];

/** The scopes of a query, without unknown and repeated ones, in their order. */
export function parseScopes(text: string): string[] {
  const given = text.split(",");
  return SCOPES.filter((scope) => given.includes(scope));
}
