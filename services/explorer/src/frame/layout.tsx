import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useKey } from "../api/kept-key.ts";
import { ErrorBoundary } from "../faults/error-boundary.tsx";
import { KeyButton } from "../key/key-button.tsx";
import { RefusedKey } from "../key/refused-key.tsx";
import { BASE } from "../routing/paths.ts";
import { SearchBox } from "./search-box.tsx";
import { useSearchShortcut } from "./search-shortcut.ts";

const LINKS = [
  ["/today", "Today"],
  ["/overview", "Overview"],
  ["/search", "Search"],
  ["/tags", "Tags"],
  ["/callbacks", "Callbacks"],
  ["/feeds", "Feeds"],
  ["/watches", "Watches"],
  ["/sensors", "Sensors"],
  ["/plans", "Plans"],
] as const;

/** The pages with a large search box of their own. */
const WITH_LARGE_SEARCH = ["/", "/today", "/overview"];

/** What all pages have around them. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { path, url } = useLocation();
  const { key, isRefused } = useKey();
  const here = path.slice(BASE.length) || "/";
  const main = useFocusOnPage(path);
  useSearchShortcut();
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="home" href={`${BASE}/`}>
          Noisefloor
        </a>
        <nav aria-label="Pages">
          {LINKS.map(([to, name]) => (
            <a key={to} href={`${BASE}${to}`} aria-current={here === to ? "page" : undefined}>
              {name}
            </a>
          ))}
          <a href={`${BASE}/docs`}>API</a>
        </nav>
        {WITH_LARGE_SEARCH.includes(here) ? null : <SearchBox />}
        <KeyButton />
      </header>
      <main id="content" tabIndex={-1} ref={main}>
        {isRefused ? <RefusedKey value={key} /> : <ErrorBoundary resetOn={url}>{children}</ErrorBoundary>}
      </main>
      <footer>
        <span>All times are UTC. All counts are exact.</span>
        <a href={`${BASE}/openapi.json`}>OpenAPI</a>
      </footer>
    </>
  );
}

/**
 * Another page starts at its top, where a screen reader reads on; the first one leaves the focus to the browser. Before
 * the page is painted: later, the focus would leave a field that its reader types in already.
 */
function useFocusOnPage(path: string) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useLayoutEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [path]);
  return main;
}

/** Names the page in the browser's tab and history. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} - Noisefloor`;
  }, [title]);
}
