import type { WatchType } from "@noisefloor/domain/watches/watch.ts";

/** The prefix of all paths, which a proxy may add, without a trailing slash: the service puts it into the document. */
export const BASE = typeof document === "undefined" ? "" : (document.documentElement.dataset.base ?? "");

/** Where programs elsewhere reach the service, without a trailing slash. */
export function serviceUrl(): string {
  const { publicUrl = "" } = document.documentElement.dataset;
  // What it is when PUBLIC_URL is not set, which is no use to other machines.
  const isUnset = publicUrl === "" || new URL(publicUrl).hostname === "localhost";
  return isUnset ? `${location.origin}${BASE}` : publicUrl;
}

type Values = Readonly<Record<string, string>>;

/** A path with the values that differ from the page's defaults. */
export function withQuery(path: string, values: Values, defaults: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== (defaults[name] ?? "")) query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

export const pagePath = (path: string, values: Values = {}) => withQuery(`${BASE}${path}`, values);
export const addressPath = (ip: string) => pagePath(`/ip/${encodeURIComponent(ip)}`);
export const networkPath = (ip: string, length: string) => pagePath(`/networks/${encodeURIComponent(ip)}/${length}`);
export const tagPath = (slug: string) => pagePath(`/tags/${encodeURIComponent(slug)}`);
export const asnPath = (asn: string) => pagePath(`/asns/${encodeURIComponent(asn)}`);
export const countryPath = (code: string) => pagePath(`/countries/${encodeURIComponent(code)}`);

/** @param days empty for all that is stored. */
export const searchPath = (query: string, days = "") => pagePath("/search", { query, days });

/** @param other empty for the first search alone. @param days empty for the default. */
export const comparePath = (query: string, other = "", days = "") => pagePath("/compare", { query, with: other, days });
/** The callbacks of the visitors of a search. */
export const callbacksPath = (query: string) => pagePath("/callbacks", { query });
export const feedPath = (name: string) => pagePath(`/feeds/${encodeURIComponent(name)}`);
export const watchPath = (id: string) => pagePath(`/watches/${encodeURIComponent(id)}`);
/** The form of a new watch. @param value what it waits for: a query, network, tag or sensor; empty for any. */
export const newWatchPath = (kind: WatchType, value: string) => pagePath("/watches", { kind, value });

/** The links that the pages open themselves; the browser loads all others. */
export const PAGES = new RegExp(
  `^${BASE.replace(/[.*+?^$\\{}()|[\\]/g, "\\$&")}/(?:|today|overview|addresses|callbacks|compare|feeds|feeds/[^/?]+|plans|search|sensors|tags|tags/[^/?]+|watches|watches/[^/?]+|ip/[^/?]+|riot/[^/?]+|networks/[^/?]+/[^/?]+|asns/[^/?]+|countries/[^/?]+)(?:\\?.*)?$`,
);
