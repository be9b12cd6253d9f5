import { cvePath } from "../routing/paths.ts";

/** CVEs, each with a link to what has it. */
export function Cves({ cves }: { readonly cves: readonly string[] }) {
  return cves.map((cve, n) => (
    <span key={cve}>
      {n === 0 ? "" : ", "}
      <a href={cvePath(cve)}>{cve}</a>
    </span>
  ));
}
