import { ValueLink } from "./value-search.tsx";

/** CVEs, each with a link to the search for it. */
export function Cves({ cves }: { readonly cves: readonly string[] }) {
  return cves.map((cve, n) => (
    <span key={cve}>
      {n === 0 ? "" : ", "}
      <ValueLink field="cve" value={cve} />
    </span>
  ));
}
