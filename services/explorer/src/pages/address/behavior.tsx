import type { Scanner } from "../../api/operations.ts";
import { portPath, type SearchedField, valuePath } from "../../search/value-search.tsx";
import { Facts, values } from "./facts.tsx";

const withSame = (field: SearchedField) => (text: string) => valuePath(field, text);

/** @param text `22/tcp`, or `22` where the protocol is not known. */
function withSamePort(text: string): string {
  const [port = "", protocol] = text.split("/");
  return portPath(port, protocol);
}

/** What sensors saw an address do. */
export function Behavior({ raw }: { readonly raw: Scanner["raw_data"] }) {
  if (!("scan" in raw)) return null;
  const { scan, http, tls, ssh, ja3, hassh } = raw;
  return (
    <Facts
      title="What it did"
      facts={[
        [
          "Ports",
          values(
            scan.map(({ port, protocol }) => (protocol === "" ? `${port}` : `${port}/${protocol}`)),
            withSamePort,
          ),
        ],
        ["HTTP methods", values(http.method, withSame("method"))],
        ["HTTP paths", values(http.path, withSame("path"))],
        ["User agents", values(http.useragent, withSame("user_agent"))],
        ["Header fields", values(http.request_header)],
        ["Cookies", values(http.cookie_keys)],
        ["Credentials", values(http.request_authorization)],
        ["Bodies (MD5)", values(http.md5)],
        ["JA3", values(distinct(ja3), withSame("ja3"))],
        ["JA4", values(tls.ja4, withSame("ja4"))],
        ["TLS ciphers", values(tls.cipher)],
        ["HASSH", values(distinct(hassh), withSame("hassh"))],
        ["SSH keys", values(ssh.key)],
      ]}
    />
  );
}

function distinct(fingerprints: readonly { readonly fingerprint: string }[]): string[] {
  return [...new Set(fingerprints.map(({ fingerprint }) => fingerprint))];
}
