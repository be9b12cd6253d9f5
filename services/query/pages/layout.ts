import { type Html, html } from "./html.ts";
import { STYLE } from "./style.ts";

export type Page = {
  readonly title: string;
  readonly content: Html;
  /** Whether the page's header has the lookup form; false for a page with a form of its own. */
  readonly hasForm?: boolean;
};

/** With it, the URL of a page stands for its plain form. */
export const PLAIN_PARAMETER = "plain";
export const PLAIN_QUERY = `?${PLAIN_PARAMETER}=true`;

/** Writes a whole page. @param base the prefix of paths, which a proxy may add, without a trailing slash. */
export function writePage(base: string, { title, content, hasForm = true }: Page): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title} - Noisefloor</title>
<link rel="icon" href="data:,">
<style>${{ markup: STYLE }}</style>
</head>
<body>
<header><a class="home" href="${base}/${PLAIN_QUERY}">Noisefloor</a>${hasForm ? lookupForm(base) : undefined}</header>
<main>
${content}
</main>
<footer><a href="${base}/docs">API</a><a href="${base}/plans${PLAIN_QUERY}">Plans</a>All times are UTC.</footer>
</body>
</html>
`;
  return page.markup;
}

/** A form for an address that needs no script. */
export function lookupForm(base: string): Html {
  return html`<form action="${base}/lookup" method="get" role="search">
<input name="ip" aria-label="IPv4 address" placeholder="192.175.48.6" autocomplete="off" spellcheck="false" maxlength="2000" required>
<button>Look up</button>
</form>`;
}

/** The same for several lines, which a field of one line would join. Limited to what a URL may hold, encoded. */
export function listForm(base: string): Html {
  return html`<form action="${base}/lookup" method="get">
<textarea name="ip" aria-label="Several IPv4 addresses" rows="5" spellcheck="false" maxlength="4000" required></textarea>
<button>Look up all</button>
</form>`;
}
