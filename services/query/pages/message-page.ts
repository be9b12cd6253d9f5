import { html } from "./html.ts";
import { type Page, PLAIN_QUERY } from "./layout.ts";

const TITLES: Readonly<Record<number, string>> = {
  400: "Not an address to look up",
  401: "Unknown key",
  404: "Not known here",
  429: "No lookups left for today",
};

/** The page for an error response. */
export function messagePage(status: number, message: string, base: string): Page {
  const title = TITLES[status] ?? (status === 503 ? "Temporarily unavailable" : "Something went wrong");
  return {
    title,
    content: html`<h1>${title}</h1>
<p>${message}</p>
${status === 429 ? html`<p><a href="${base}/plans${PLAIN_QUERY}">What other plans allow</a></p>` : undefined}`,
  };
}
