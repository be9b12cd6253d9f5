import { type Plans, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/access/plan.ts";
import { html } from "./html.ts";
import type { Page } from "./layout.ts";

const number = new Intl.NumberFormat("en");

/** `/plans`: the page that error responses of the rate limit link to. */
export function plansPage(plans: Plans): Page {
  const rows = [...plans].map(([name, { lookups_per_day: lookups, reach_days: days }]) => {
    const each = name === UNAUTHENTICATED_PLAN ? "for each address, without a key" : "for each workspace";
    return html`<tr><td>${name}</td>
<td>${lookups === undefined ? "without limit" : `${number.format(lookups)} ${each}`}</td>
<td>${days === 1 ? "1 day" : `${days} days`}</td></tr>
`;
  });
  return {
    title: "Plans",
    content: html`<h1>Plans</h1>
<p class="lead">Lookups per day, and how far back tag activity and timelines reach.</p>
<section>
<table>
<thead><tr><th>Plan</th><th>Lookups per UTC day</th><th>Reach</th></tr></thead>
<tbody>
${rows}</tbody>
</table>
</section>
<p>Each address that you look up is one lookup, found or not; a request for many addresses counts each distinct one.
Tags and tag activity do not count. Get a key from the operator of this service, and send it in the header
<code>key</code>.</p>`,
  };
}
