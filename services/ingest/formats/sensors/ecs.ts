import { toObservation } from "../draft.ts";
import { type Fields, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** Words that Elastic's own pipelines put among the tags. */
const PIPELINE_TAGS = /^(?:forwarded|preserve_|redact_|_|beats_input)/;

/** Elastic Common Schema, as Filebeat and Elastic Agent send it. */
export const ecs: LogFormat = {
  name: "ecs",
  description: "Elastic Common Schema (Filebeat, Elastic Agent)",
  json: {
    signs: "@timestamp and source.ip",
    recognizes: (record) => ("ecs" in record || "ecs.version" in record) && isEcs(record),
    resembles: isEcs,
    decode: decodeEcs,
  },
};

function isEcs(record: Fields): boolean {
  return "@timestamp" in record && textAt(record, "source.ip", "source.address") !== undefined;
}

function decodeEcs(record: Fields, options: DecodeOptions): Decoded {
  const source = textAt(record, "source.ip", "source.address");
  if (source !== undefined && options.isOwnAddress(source)) return { ignored: "own-traffic" };
  const username = textAt(record, "user.name");
  const rule = textAt(record, "rule.name");
  const target = textAt(record, "url.original") ?? targetOf(record);
  const method = textAt(record, "http.request.method");
  const id = textAt(record, "event.id");
  return toObservation(
    {
      format: "ecs",
      observedAt: record["@timestamp"],
      sensor: textAt(record, "observer.name", "opencanary.node.id", "agent.name", "host.name"),
      sourceIp: source,
      sourceMembers: ["source.ip", "source.address"],
      sourcePort: portAt(record, "source.port"),
      destinationPort: portAt(record, "destination.port"),
      transport: textAt(record, "network.transport"),
      application: textAt(record, "network.protocol", "network.application"),
      session: textAt(record, "network.session_id", "event.session_id"),
      credentials: username === undefined ? [] : [{ username }],
      labels: [
        ...(rule === undefined ? [] : [`rule:${rule}`]),
        ...textsAt(record, "vulnerability.id").map((cve) => `cve:${cve}`),
        ...textsAt(record, "tags").filter((tag) => !PIPELINE_TAGS.test(tag)),
      ],
      http:
        target === undefined && method === undefined
          ? undefined
          : {
              method,
              host: textAt(record, "url.domain"),
              target,
              userAgent: textAt(record, "user_agent.original"),
              referer: textAt(record, "http.request.referrer"),
              body: textAt(record, "http.request.body.content"),
            },
      ja3: textAt(record, "tls.client.ja3"),
      asn: textAt(record, "source.as.number"),
      organization: textAt(record, "source.as.organization.name"),
      country: textAt(record, "source.geo.country_iso_code"),
      city: textAt(record, "source.geo.city_name"),
      ...(id !== undefined && { key: [id] }),
    },
    options,
  );
}

function targetOf(record: Fields): string | undefined {
  const path = textAt(record, "url.path");
  const query = textAt(record, "url.query");
  return path === undefined || query === undefined ? path : `${path}?${query}`;
}
