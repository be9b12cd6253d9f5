import type { Scanner } from "../../api/operations.ts";
import { Facts, values } from "./facts.tsx";

/** What sensors saw an address do. */
export function Behavior({ raw }: { readonly raw: Scanner["raw_data"] }) {
  if (!("scan" in raw)) return null;
  const { scan, http, tls, ssh, ja3, hassh } = raw;
  return (
    <Facts
      title="What it did"
      facts={[
        ["Ports", values(scan.map(({ port, protocol }) => (protocol === "" ? `${port}` : `${port}/${protocol}`)))],
        ["HTTP methods", values(http.method)],
        ["HTTP paths", values(http.path)],
        ["User agents", values(http.useragent)],
        ["Header fields", values(http.request_header)],
        ["Cookies", values(http.cookie_keys)],
        ["Credentials", values(http.request_authorization)],
        ["Bodies (MD5)", values(http.md5)],
        ["JA3", values(distinct(ja3))],
        ["JA4", values(tls.ja4)],
        ["TLS ciphers", values(tls.cipher)],
        ["HASSH", values(distinct(hassh))],
        ["SSH keys", values(ssh.key)],
      ]}
    />
  );
}

function distinct(fingerprints: readonly { readonly fingerprint: string }[]): string[] {
  return [...new Set(fingerprints.map(({ fingerprint }) => fingerprint))];
}
