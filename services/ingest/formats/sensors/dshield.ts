import { toObservation } from "../draft.ts";
import { at, type Fields, isFields, objectAt, portAt, textAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { readHeaderFields, toHeaderFields } from "./payload.ts";

/** The web log of the DShield sensor: one request a line. */
export const dshieldWeb: LogFormat = {
  name: "dshield",
  description: "the DShield sensor's web log (webhoneypot_*.json)",
  json: {
    signs: "sip, url, method and an object of headers",
    recognizes: (record) => "sip" in record && "url" in record && "method" in record && isFields(record.headers),
    decode: decodeWeb,
  },
};

function decodeWeb(record: Fields, options: DecodeOptions): Decoded {
  const fields = toHeaderFields(record.headers);
  const target = textAt(record, "url");
  // The host of a request to a proxy is the one that the proxy should ask.
  const isToSensor = target?.startsWith("/") === true;
  const data = at(record, "data");
  return toObservation(
    {
      format: "dshield",
      observedAt: record.time,
      sensor: textAt(record, "sensor"),
      sourceIp: textAt(record, "sip"),
      sourceMembers: ["sip"],
      destinationPort:
        portAt(record, "dport") ??
        (isToSensor ? portOfHost(textAt(objectAt(record, "headers"), "host", "Host")) : undefined),
      transport: "tcp",
      application: "http",
      http: {
        ...readHeaderFields(fields),
        method: textAt(record, "method"),
        target,
        ...(textAt(record, "useragent") !== undefined && { userAgent: textAt(record, "useragent") }),
        body: isFields(data) ? JSON.stringify(data) : toText(data),
      },
    },
    options,
  );
}

/** The port that the client named; a client names none for the usual one. */
function portOfHost(host: string | undefined): number {
  const port = /:(\d{1,5})$/.exec(host ?? "")?.[1];
  return port === undefined ? 80 : Number(port);
}
