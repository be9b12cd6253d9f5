import { type Entry, NOT_LOOKED_UP } from "@noisefloor/domain/search/find-addresses.ts";
import type { AddressSummary } from "../address/records.ts";
import { type Html, html } from "./html.ts";
import { type Page, PLAIN_QUERY } from "./layout.ts";

/** `/lookup` of several addresses: what is known of each. @param summaries of those that were looked up. */
export function listPage(
  entries: readonly Entry[],
  summaries: ReadonlyMap<string, AddressSummary>,
  base: string,
): Page {
  const rows = entries.map(
    ({
      text,
      kind,
    }) => html`<tr>${kind === "address" ? found(text, summaries.get(text) ?? {}, base) : skipped(text, kind)}</tr>
`,
  );
  return {
    title: `${summaries.size} addresses`,
    content: html`<h1>${summaries.size} addresses</h1>
<section><table>
<thead><tr><th>Address</th><th>Verdict</th></tr></thead>
<tbody>
${rows}</tbody>
</table></section>`,
  };
}

function found(ip: string, { noise, riot }: AddressSummary, base: string): Html {
  const classification = noise?.classification ?? (riot === undefined ? undefined : "benign");
  if (classification === undefined) return html`<td>${ip}</td><td>not seen</td>`;
  return html`<td><a href="${base}/ip/${ip}${PLAIN_QUERY}">${ip}</a></td>
<td><span class="badge ${classification}">${classification}</span></td>`;
}

function skipped(text: string, kind: Exclude<Entry["kind"], "address">): Html {
  return html`<td>${text}</td><td>not looked up: ${kind === "network" ? "a network" : NOT_LOOKED_UP[kind]}</td>`;
}
