import { createHash } from "node:crypto";

/** The style sheet, inlined so that a page is one request. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --text: #1c2128; --faint: #59636e; --line: #d5dae0; --back: #f6f8fa; --card: #fff; --accent: #0b62c4;
  --malicious: #b3261e; --suspicious: #9a5b00; --unknown: #59636e; --benign: #1a7f37;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6eaef; --faint: #9aa5b1; --line: #343b44; --back: #14181d; --card: #1c2128; --accent: #6cb0ff;
    --malicious: #ff8a80; --suspicious: #f0b45b; --unknown: #9aa5b1; --benign: #63d17e;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
header, main, footer { max-width: 54rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: center; padding-top: 1rem; padding-bottom: 1rem; }
header .home { font-weight: 650; color: var(--text); text-decoration: none; margin-right: auto; }
footer { padding-top: 1.5rem; padding-bottom: 2rem; color: var(--faint); font-size: .875rem; }
footer a { margin-right: 1rem; }
a { color: var(--accent); }
h1 { margin: 1rem 0 .25rem; font-size: 1.75rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 .5rem; font-size: 1rem; }
p { margin: .5rem 0; }
section { margin: 1rem 0; padding: 1rem 1.25rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
form { display: flex; gap: .5rem; }
input, button { font: inherit; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: 6px; }
input { min-width: 0; width: 13rem; background: var(--card); color: var(--text); }
textarea { font: inherit; flex: 1; min-width: 0; max-width: 30rem; background: var(--card); color: var(--text); border: 1px solid var(--line); border-radius: 6px; }
form button { align-self: flex-start; }
button { background: var(--accent); border-color: var(--accent); color: var(--card); cursor: pointer; }
.large input { width: 22rem; padding: .6rem .9rem; }
.lead { color: var(--faint); }
.badge { display: inline-block; padding: 0 .6rem; border: 1px solid currentColor; border-radius: 1rem; font-size: .875rem; }
.malicious { color: var(--malicious); } .suspicious { color: var(--suspicious); }
.unknown { color: var(--unknown); } .benign { color: var(--benign); }
dl { display: grid; grid-template-columns: minmax(7rem, 11rem) 1fr; gap: .25rem 1rem; margin: 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
ul { margin: 0; padding: 0; list-style: none; }
.tags li { padding: .5rem 0; border-top: 1px solid var(--line); }
.tags li:first-child { border-top: 0; padding-top: 0; }
.values { display: flex; flex-wrap: wrap; gap: .25rem .4rem; }
.values li { max-width: 100%; overflow: hidden; }
code, pre { font: .875rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
code { padding: .05rem .35rem; background: var(--back); border: 1px solid var(--line); border-radius: 4px; overflow-wrap: anywhere; }
code, dd, bdi { unicode-bidi: isolate; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .4rem .5rem; text-align: left; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: normal; }
tr:last-child td { border-bottom: 0; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } form { width: 100%; } input { flex: 1; } }
`;

const hash = createHash("sha256").update(STYLE).digest("base64");

/** Allows the inline style sheet and forms to this service. No scripts, nothing from other origins. */
export const PAGE_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${hash}'`,
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join(";");
