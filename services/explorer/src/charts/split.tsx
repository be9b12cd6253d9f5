import type { Intention } from "../api/operations.ts";
import { Badge } from "../shell/badge.tsx";
import { formatCount, formatShare } from "../text/format.ts";

export type SplitPart = { readonly classification: Intention; readonly addresses: number };

/** Addresses by classification: a bar, and the numbers in words. */
export function Split({ parts, total }: { readonly parts: readonly SplitPart[]; readonly total: number }) {
  return (
    <div class="split">
      <div class="split-bar" aria-hidden="true">
        {parts.map(({ classification, addresses }) => (
          <span key={classification} class={`fill-${classification}`} style={{ flexGrow: addresses }} />
        ))}
      </div>
      <ul>
        {parts.map(({ classification, addresses }) => (
          <li key={classification}>
            <Badge verdict={classification} /> <strong>{formatCount(addresses)}</strong>{" "}
            <span class="faint">{formatShare(addresses, total)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
