/** Names of the style sheet's colours, which differ between light and dark. */
export type ColorName =
  | "text"
  | "line"
  | "accent"
  | "malicious"
  | "suspicious"
  | "unknown"
  | "benign"
  | "series-1"
  | "series-2"
  | "series-3"
  | "series-4"
  | "series-5"
  | "series-6"
  | "series-rest";

export const SERIES_COLORS = ["series-1", "series-2", "series-3", "series-4", "series-5", "series-6"] as const;

/** Its value in the scheme that is shown, for drawings. */
export function colorOf(name: ColorName): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
