import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { CataloguedTag } from "@noisefloor/clickhouse/tables/tags.ts";
import { cut } from "@noisefloor/domain/text/show-invisible.ts";
import { webUrl } from "@noisefloor/domain/text/web-url.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { AddressDetails } from "../address/details-query.ts";
import type { AddressContext } from "../address/read-contexts.ts";
import type { NoiseRecord, RiotRecord } from "../address/records.ts";
import { countryName } from "../address/response.ts";
import { type Html, html } from "./html.ts";
import type { Page } from "./layout.ts";

/** Limits of a page: values in a list, characters of a value. */
const MAX_VALUES = 60;
const MAX_CHARACTERS = 300;
const shorten = (text: string) => cut(text, MAX_CHARACTERS);

/** `/ip/{ip}` and `/riot/{ip}`: an address in the global dataset, which has noise, riot or both. */
export function addressPage(ip: string, context: AddressContext, catalogue: TagCatalogue, base: string): Page {
  const { noise, riot, details } = context;
  const classification = noise?.classification ?? "benign";
  return {
    title: ip,
    content: html`<h1>${ip}</h1>
<p><span class="badge ${classification}">${classification}</span> ${summary(noise, riot)}</p>
${riot === undefined ? undefined : serviceSection(riot)}
${noise === undefined ? undefined : noiseSection(noise, details)}
${noise === undefined ? undefined : tagsSection(noise.tagIds.flatMap((id) => catalogue.byId(id) ?? []))}
${details === undefined ? undefined : networkSection(details)}
${details === undefined ? undefined : behaviorSection(details)}
<p><a href="${base}/v3/ip/${ip}">The same as JSON</a></p>`,
  };
}

function summary(noise: NoiseRecord | undefined, riot: RiotRecord | undefined): string {
  const service = riot === undefined ? "" : `It belongs to a known benign service, ${shorten(riot.name)}.`;
  if (noise === undefined) return `Our sensors have not seen it scanning. ${service}`;
  const actor = noise.actor === undefined ? "" : `, known as ${shorten(noise.actor)}`;
  return `Seen scanning the Internet${actor}. ${service}`;
}

function serviceSection(riot: RiotRecord): Html | undefined {
  return section("Benign service", [
    ["Name", riot.name],
    ["Category", riot.category],
    ["Description", riot.description],
    ["Explanation", riot.explanation],
    ["Reference", link(riot.reference)],
    ["Trust level", riot.trustLevel],
    ["List updated", formatTimestamp(riot.refreshedAt)],
  ]);
}

function noiseSection(noise: NoiseRecord, details: AddressDetails | undefined): Html | undefined {
  return section("Scanning", [
    ["First seen", formatTimestamp(details?.first_seen ?? noise.lastSeen)],
    ["Last seen", formatTimestamp(noise.lastSeen)],
    ["Actor", noise.actor ?? "unknown"],
    ["Observations", details === undefined ? "" : String(details.hits)],
    ["Sensors", details === undefined ? "" : String(details.sensors)],
  ]);
}

function tagsSection(tags: readonly CataloguedTag[]): Html | undefined {
  if (tags.length === 0) return undefined;
  const items = tags.map(
    ({ name, intention, description, cves, references }) => html`<li><bdi>${shorten(name)}</bdi>
<span class="badge ${intention}">${intention}</span>
${description === "" ? undefined : html`<br>${prose(description)}`}
${cves.length === 0 ? undefined : html`<br>${shorten(cves.join(", "))}`}
${references.slice(0, MAX_VALUES).map((reference) => html`<br>${link(reference)}`)}</li>
`,
  );
  return html`<section><h2>Tags</h2><ul class="tags">
${items}</ul></section>`;
}

function networkSection(details: AddressDetails): Html | undefined {
  return section("Network", [
    ["Autonomous system", details.asn === 0 ? "" : `AS${details.asn}`],
    ["Organization", details.organization],
    ["Country", countryName(details.country) || details.country],
    ["City", details.city],
    ["Reverse DNS", details.named[0]],
  ]);
}

function behaviorSection(details: AddressDetails): Html | undefined {
  const fingerprints = (of: AddressDetails["ja3"]) => [...new Set(of.map(([fingerprint]) => fingerprint))];
  return section("What it did", [
    [
      "Ports",
      values(details.ports.map(([port, transport]) => (transport === "" ? `${port}` : `${port}/${transport}`))),
    ],
    ["HTTP methods", values(details.methods)],
    ["HTTP paths", values(details.paths)],
    ["User agents", values(details.user_agents)],
    ["JA3", values(fingerprints(details.ja3))],
    ["JA4", values(details.ja4)],
    ["HASSH", values(fingerprints(details.hassh))],
  ]);
}

/** Leaves out empty rows; undefined when all are empty. */
function section(title: string, rows: readonly (readonly [string, string | Html | undefined])[]): Html | undefined {
  const filled = rows.filter(([, value]) => value !== undefined && value !== "");
  if (filled.length === 0) return undefined;
  const items = filled.map(
    ([name, value]) => html`<dt>${name}</dt><dd>${typeof value === "string" ? prose(value) : value}</dd>
`,
  );
  return html`<section><h2>${title}</h2><dl>
${items}</dl></section>`;
}

function values(texts: readonly string[]): Html | undefined {
  if (texts.length === 0) return undefined;
  const shown = texts.slice(0, MAX_VALUES).map((text) => html`<li><code>${shorten(text)}</code></li>`);
  const more = texts.length - shown.length;
  return html`<ul class="values">${shown}${more === 0 ? undefined : html`<li>and ${more} more</li>`}</ul>`;
}

/** A link for an http(s) URL, else plain text: the text comes from published lists and may be anything. */
function link(text: string): Html | undefined {
  if (text === "") return undefined;
  const url = webUrl(text);
  if (url === undefined) return html`${shorten(text)}`;
  return html`<a href="${url}" rel="noreferrer noopener nofollow">${shorten(text)}</a>`;
}

/** Shortens a text that may have line breaks. */
const prose = (text: string) => shorten(text.replace(/\s+/g, " ").trim());
