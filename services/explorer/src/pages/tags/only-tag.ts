import { useEffect, useRef } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Tag } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import type { TagFilter } from "./filter-tags.ts";

const CVE = /^CVE-\d{4}-\d{4,}$/i;

/**
 * Opens the only tag of a CVE that a link or a search led to, in place of the list of this one tag.
 * @returns what was typed into a filter last, which opens nothing.
 */
export function useOpenOnlyTag(tags: readonly Tag[], { name, category, intention, cve }: TagFilter) {
  const { route } = useLocation();
  const typed = useRef("");
  const isSearched = CVE.test(cve) && cve !== typed.current && `${name}${category}${intention}` === "";
  const [only, ...others] = isSearched ? tags.filter(({ cves }) => cves.includes(cve.toUpperCase())) : [];
  const slug = others.length === 0 ? only?.slug : undefined;
  useEffect(() => {
    if (slug !== undefined) route(tagPath(slug), true);
  }, [slug]);
  return typed;
}
