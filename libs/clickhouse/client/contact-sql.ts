import { CONTACT_TAG_ID, type Proof } from "@noisefloor/domain/tags/contact.ts";

/** SQL: the tag under which rollups have proven contact. */
export const CONTACT_TAG = `toUUID('${CONTACT_TAG_ID}')`;

const EVIDENCE: readonly (readonly [proof: Proof, columns: readonly string[]])[] = [
  ["login", ["login_attempts > 0", "notEmpty(credentials)"]],
  ["command", ["notEmpty(commands)"]],
  ["download", ["notEmpty(urls)", "notEmpty(payload_sha256)"]],
  [
    "request",
    [
      ...["method", "path", "host", "user_agent"].map((name) => `http_${name} != ''`),
      ...["headers", "cookies"].map((name) => `notEmpty(http_${name})`),
    ],
  ],
  ["tls", ["tls_ja3 != ''", "tls_ja4 != ''", "tls_sni != ''"]],
  ["ssh", ["ssh_hassh != ''", "ssh_banner != ''"]],
];

/** SQL: what proves contact, over a row of `observations` that does. */
export const PROOF = `multiIf(${EVIDENCE.map(([proof, columns]) => `${columns.join(" OR ")}, '${proof}'`).join(", ")}, 'connection')`;
