import { toObservation } from "../../draft.ts";
import { type Fields, portAt, textAt, textsAt } from "../../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../../format.ts";
import { ecsContact } from "./ecs-contact.ts";
import { ecsAnswer } from "./ecs-source.ts";

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
  const answer = ecsAnswer(record, source, options);
  if (answer !== undefined) return { ignored: answer };
  const username = textAt(record, "user.name");
  const rule = textAt(record, "rule.name");
  const target = textAt(record, "url.original") ?? targetOf(record);
  const method = textAt(record, "http.request.method");
  const id = textAt(record, "event.id");
  // Elastic's packages begin a flow's record with when it was written.
  const time = textAt(record, "event.start") ?? record["@timestamp"];
  const session = sessionOf(record, id);
  return toObservation(
    {
      format: "ecs",
      observedAt: time,
      sensor: textAt(record, "observer.name", "opencanary.node.id", "agent.name", "host.name"),
      sourceIp: source,
      sourceMembers: ["source.ip", "source.address"],
      sourcePort: portAt(record, "source.port"),
      destinationPort: portAt(record, "destination.port"),
      transport: textAt(record, "network.transport"),
      established: ecsContact(record),
      application: textAt(record, "network.protocol", "network.application"),
      session,
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
      tls: { ja3: textAt(record, "tls.client.ja3"), sni: textAt(record, "tls.client.server_name") },
      asn: textAt(record, "source.as.number"),
      organization: textAt(record, "source.as.organization.name"),
      country: textAt(record, "source.geo.country_iso_code"),
      city: textAt(record, "source.geo.city_name"),
      // The id may be the connection's, which several records share.
      ...(id !== undefined && { key: [id, session, time, textAt(record, "event.dataset"), target] }),
    },
    options,
  );
}

/** Elastic's packages for Zeek and Suricata name the connection; `event.id` may be that, too, and not the record's. */
function sessionOf(record: Fields, id: string | undefined): string | undefined {
  const stated = textAt(record, "network.session_id", "event.session_id");
  if (stated !== undefined) return stated;
  const isZeek = textAt(record, "event.module", "event.dataset")?.startsWith("zeek") === true;
  const connection = textAt(record, "zeek.session_id", "suricata.eve.flow_id") ?? (isZeek ? id : undefined);
  const depth = Number(textAt(record, "zeek.http.trans_depth") ?? 1);
  return connection && depth > 1 ? `${connection}/${depth - 1}` : connection;
}

function targetOf(record: Fields): string | undefined {
  const path = textAt(record, "url.path");
  const query = textAt(record, "url.query");
  return path === undefined || query === undefined ? path : `${path}?${query}`;
}
