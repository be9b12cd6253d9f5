import { splitTarget, toObservation } from "../draft.ts";
import { type Fields, portAt, textAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readHeaderFields, toHeaderFields } from "./payload.ts";

/** The request log of the Docker API honeypot. Its lines have no time: whoever collects them adds `_hour` and `_port`. */
export const dockerApiHoneypot: LogFormat = {
  name: "docker-api-honeypot",
  description: "requests to a Docker API honeypot (dockerapi.*.log)",
  json: {
    signs: "view_args, source and url",
    recognizes: (record) => "view_args" in record && "source" in record && "url" in record,
    decode: decodeRequest,
  },
};

function decodeRequest(record: Fields, options: DecodeOptions): Decoded {
  const url = textAt(record, "url");
  const { path = "/", query } = splitTarget(url);
  const body = Buffer.from(textAt(record, "data")?.slice(0, 8_192) ?? "", "base64");
  return toObservation(
    {
      format: "docker-api-honeypot",
      observedAt: textAt(record, "_hour", "timestamp", "time") ?? new Date(options.now()).toISOString(),
      sensor: textAt(record, "sensor", "host"),
      sourceIp: textAt(record, "source"),
      sourceMembers: ["source"],
      destinationPort: portAt(record, "_port") ?? portOfUrl(url),
      transport: "tcp",
      application: "http",
      http: {
        ...readHeaderFields(toHeaderFields(record.headers)),
        method: textAt(record, "method"),
        target: query === undefined ? path : `${path}?${query}`,
        ...(body.length > 0 && { body: body.toString("utf8") }),
      },
    },
    options,
  );
}

function portOfUrl(url: string | undefined): number | undefined {
  const port = /^https?:\/\/[^/]*:(\d{1,5})(?:\/|$)/.exec(url ?? "")?.[1];
  return port === undefined ? undefined : Number(port);
}
