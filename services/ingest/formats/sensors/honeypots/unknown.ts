import { type Fields, portAt, textAt } from "../../fields.ts";
import { readHeaderFields, readHttpRequest, toHeaderFields } from "../payload.ts";
import { type Honeypot, type Reading, spokenIn, transportOf } from "./honeypot.ts";

/** The names that web honeypots give the parts of a request. `path` is no target: Logstash calls the log file so. */
const TARGETS = ["http.url", "url", "uri", "request_uri", "request_url", "requestURI", "request.requestURI"];
const METHODS = ["http.http_method", "method", "request_method", "http_method", "request.method"];
const AGENTS = ["http_user_agent", "user_agent", "user-agent", "userAgent", "request.userAgent"];
const REQUESTS = ["request", "request_data", "payload_printable", "raw"];

/** Ports of services over UDP: a record for one of them that names no transport does not mean TCP. */
const UDP_PORTS = new Set([53, 67, 69, 123, 161, 500, 1900, 5060, 5353, 5355, 5683, 11211]);

/** A honeypot that no table knows: the names that most of them use for what they see. */
export const unknownHoneypot: Honeypot = { name: "tpot", seesPackets: true, read };

function read(record: Fields): Reading {
  const raw = readHttpRequest((textAt(record, ...REQUESTS) ?? "").replace(/^"/, ""));
  const target = textAt(record, ...TARGETS);
  const headers = readHeaderFields(toHeaderFields(record.headers));
  const http =
    raw ??
    (target === undefined
      ? undefined
      : {
          ...headers,
          method: textAt(record, ...METHODS),
          target,
          userAgent: textAt(record, ...AGENTS) ?? headers.userAgent,
          body: textAt(record, "body", "post_data", "postdata", "request.body"),
        });
  const spoken = spokenIn(record);
  const application = spoken.application ?? (http === undefined ? undefined : "http");
  const port = portAt(record, "dest_port", "dst_port");
  const isOverUdp = application === undefined && port !== undefined && UDP_PORTS.has(port);
  return {
    application,
    transport: spoken.transport ?? transportOf(application) ?? (isOverUdp ? undefined : "tcp"),
    http,
  };
}
