import type { Intention } from "../api/operations.ts";

/** A verdict as a word, in its colour. */
export type Verdict = Intention | "not seen";

export function Badge({ verdict, isLarge = false }: { readonly verdict: Verdict; readonly isLarge?: boolean }) {
  return <span class={`badge ${verdict.replace(" ", "-")}${isLarge ? " large" : ""}`}>{verdict}</span>;
}
