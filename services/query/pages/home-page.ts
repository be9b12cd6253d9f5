import { html } from "./html.ts";
import { listForm, lookupForm, type Page, PLAIN_QUERY } from "./layout.ts";

/** `/`: the start page. */
export function homePage(base: string, publicUrl: string): Page {
  return {
    title: "Is it background noise?",
    hasForm: false,
    content: html`<h1>Is this address background noise?</h1>
<p class="lead">Addresses that our sensors saw scanning the Internet, and addresses of known benign services.</p>
<section class="large">${lookupForm(base)}</section>
<section>
<h2>Several addresses</h2>
<p>Paste a list, a log or the header of a mail.</p>
${listForm(base)}
</section>
<section>
<h2>For programs</h2>
<pre>curl ${publicUrl}/v3/community/192.175.48.6</pre>
<p><a href="${base}/docs">The whole API</a>, also as <a href="${base}/openapi.json">OpenAPI</a>.
Each address that you look up, here or with the API, counts as one lookup: <a href="${base}/plans${PLAIN_QUERY}">plans</a>.</p>
</section>`,
  };
}
