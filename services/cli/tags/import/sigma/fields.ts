/** Our field for a field of Sigma rules. */
export type SigmaField = {
  readonly field: string;
  /** Only for comparisons with a part of the text: Sigma's field begins with something that ours lacks. */
  readonly isPartOnly?: boolean;
};

const WEB: Readonly<Record<string, SigmaField>> = {
  "cs-method": { field: "method" },
  "cs-uri": { field: "uri" },
  // Log files of web servers have the whole target there, and so do most rules.
  "cs-uri-query": { field: "uri", isPartOnly: true },
  "cs-uri-stem": { field: "path" },
  "cs-host": { field: "host" },
  "cs-user-agent": { field: "user_agent" },
  "cs-referer": { field: "referer" },
  "cs-referrer": { field: "referer" },
  "c-uri": { field: "uri", isPartOnly: true },
  "c-uri-query": { field: "query" },
  "c-uri-stem": { field: "path" },
  "c-useragent": { field: "user_agent" },
  "c-ip": { field: "source_ip" },
  src_ip: { field: "source_ip" },
};

const ZEEK_HTTP: Readonly<Record<string, SigmaField>> = {
  method: { field: "method" },
  uri: { field: "uri" },
  host: { field: "host" },
  user_agent: { field: "user_agent" },
  referrer: { field: "referer" },
  "id.orig_h": { field: "source_ip" },
  "id.resp_p": { field: "destination_port" },
};

/** @returns undefined for log sources whose events no sensor of ours has. */
export function fieldsOf(logsource: {
  readonly category?: string | undefined;
  readonly product?: string | undefined;
  readonly service?: string | undefined;
}): Readonly<Record<string, SigmaField>> | undefined {
  const { category, product, service } = logsource;
  if (category === "webserver" || category === "proxy") return WEB;
  return product === "zeek" && service === "http" ? ZEEK_HTTP : undefined;
}
