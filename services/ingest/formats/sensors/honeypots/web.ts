import { type HttpDraft, splitTarget } from "../../draft.ts";
import { type Fields, isFields, objectAt, portAt, textAt, textsAt } from "../../fields.ts";
import { cveLabels } from "../monitors/suricata/suricata-eve.ts";
import { readHttpRequest } from "../payload.ts";
import { beelzebub } from "./beelzebub.ts";
import { type Honeypot, isEventOf } from "./honeypot.ts";
import { readCiscoasaLine, readWordpotLine } from "./lines.ts";
import { request } from "./request.ts";

/** The members whose names begin so, without that beginning. */
function membersAfter(record: Fields, beginning: string): Fields {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      name.startsWith(beginning) ? [[name.slice(beginning.length), value]] : [],
    ),
  );
}

/** A path and, in another member, its query. */
function withQuery(path: string | undefined, query: string | undefined): string | undefined {
  return path === undefined || query === undefined ? path : `${path}?${query}`;
}

/** A whole URL as honeypots write it for requests to themselves, and the target that was requested. */
function targetOf(url: string | undefined): HttpDraft {
  const { path, query, host } = splitTarget(url);
  return { target: withQuery(path, query), ...(host !== undefined && { host }) };
}

/** Without a source port a request of the web server; with one, an exploit that the IKE server saw. */
const ciscoasa: Honeypot = {
  name: "ciscoasa",
  logsItself: true,
  readLine: readCiscoasaLine,
  read(record) {
    const http = readHttpRequest((textAt(record, "payload_printable") ?? "").replace(/^"/, ""));
    const isIke = http === undefined && "src_port" in record;
    return {
      application: isIke ? "ike" : "http",
      destinationPort: portAt(record, "dest_port") ?? (isIke ? 5000 : 8443),
      ...(http !== undefined && { http }),
    };
  },
};

const CITRIX_MESSAGE = /^\(([\d.]+):(\d+)\): (?:(\w+) (Header|body): )?(.*)$/s;

const citrixhoneypot: Honeypot = {
  name: "citrixhoneypot",
  recognizes: (record) => "levelname" in record && CITRIX_MESSAGE.test(textAt(record, "message") ?? ""),
  application: "http",
  port: 443,
  time: "asctime",
  logsItself: true,
  read(record) {
    const [, address, port, method, part, text] = CITRIX_MESSAGE.exec(textAt(record, "message") ?? "") ?? [];
    return {
      sourceIp: address,
      sourceMembers: ["message"],
      sourcePort: portAt({ port }, "port"),
      labels: method === undefined ? cveLabels(text ?? "") : [],
      ...(method !== undefined && { http: { method, ...(part === "body" ? { body: text } : { target: text }) } }),
    };
  },
};

const elasticpot: Honeypot = {
  name: "elasticpot",
  recognizes: isEventOf("elasticpot"),
  application: "elasticsearch",
  read: (record) =>
    request(record, {
      method: textAt(record, "request"),
      target: textAt(record, "url"),
      userAgent: textAt(record, "user_agent"),
      body: textAt(record, "payload"),
    }),
};

/** Its sessions are of an address, not of a connection. */
const galah: Honeypot = {
  name: "galah",
  recognizes: (record) => "request.requestURI" in record && "src_ip" in record,
  application: "http",
  read: (record) =>
    request(
      record,
      {
        method: textAt(record, "request.method"),
        target: textAt(record, "request.requestURI"),
        userAgent: textAt(record, "request.userAgent"),
        body: textAt(record, "request.body"),
      },
      // Their names in order and the digests of that come along as headers.
      { ...membersAfter(record, "request.headers."), sorted: undefined, sortedSha256: undefined },
    ),
};

/** A request is logged at its start and at its end, with one id. */
const goPot: Honeypot = {
  name: "go-pot",
  recognizes: (record) => "phase" in record && "qs" in record && "src_ip" in record,
  application: "http",
  read: (record) => ({
    session: textAt(record, "id"),
    key: [record.id, record.src_ip],
    ...request(record, {
      method: textAt(record, "method"),
      host: textAt(record, "host"),
      target: withQuery(textAt(record, "path"), textAt(record, "qs")),
      userAgent: textAt(record, "user_agent"),
    }),
  }),
};

const h0neytr4p: Honeypot = {
  name: "h0neytr4p",
  recognizes: (record) => "trapped" in record && "request_uri" in record,
  application: "http",
  read: (record) => ({
    labels: textsAt(record, "trapped_for").map((trap) => `h0neytr4p:${trap}`),
    ...request(
      record,
      {
        method: textAt(record, "request_method"),
        host: textAt(record, "hostname"),
        target: textAt(record, "request_uri"),
        userAgent: textAt(record, "user-agent"),
        body: textAt(record, "payload"),
      },
      membersAfter(record, "header_"),
    ),
  }),
};

/** Each request is logged when it begins and when its client gives up. */
const hellpot: Honeypot = {
  name: "hellpot",
  recognizes: (record) => "REMOTE_ADDR" in record && "USERAGENT" in record,
  application: "http",
  port: 80,
  time: "time",
  logsItself: true,
  read(record) {
    if (textAt(record, "message") === "FINISH") return { ignored: "no-behaviour" };
    return {
      sourceIp: textAt(record, "REMOTE_ADDR"),
      sourceMembers: ["REMOTE_ADDR"],
      ...request(record, { method: "GET", target: textAt(record, "URL"), userAgent: textAt(record, "USERAGENT") }),
    };
  },
};

const honeyaml: Honeypot = {
  name: "honeyaml",
  recognizes: (record) => textAt(record, "target") === "honeyaml::access-log",
  application: "http",
  logsItself: true,
  read: (record) =>
    request(record, {
      method: textAt(record, "method"),
      host: textAt(record, "host"),
      target: withQuery(textAt(record, "path"), textAt(record, "query_string")),
      userAgent: textAt(record, "user_agent"),
    }),
};

const ipphoney: Honeypot = {
  name: "ipphoney",
  recognizes: isEventOf("ipphoney"),
  application: "ipp",
  read: (record) => ({
    payloadSha256: textsAt(record, "sha256"),
    ...request(record, {
      method: textAt(record, "request"),
      target: textAt(record, "url"),
      userAgent: textAt(record, "user_agent"),
    }),
  }),
};

const log4pot: Honeypot = {
  name: "log4pot",
  recognizes: (record) => "correlation_id" in record && "server_port" in record && "client" in record,
  application: "http",
  read(record) {
    const line = textAt(record, "request") ?? "";
    const [, method, target = line] = /^([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?$/.exec(line) ?? [];
    const source = textAt(record, "client");
    if (source === undefined) {
      const reason = textAt(record, "reason", "type") ?? "";
      if (reason === "start" || reason === "end") return { ignored: "about-sensor" };
      // What was found in a request that has a record of its own.
      if ("correlation_id" in record) return { ignored: "no-behaviour" };
    }
    return {
      sourceIp: source,
      sourceMembers: ["client"],
      sourcePort: portAt(record, "port"),
      destinationPort: portAt(record, "server_port"),
      ...request(record, { method, target: target || undefined }, record.headers),
    };
  },
};

/** T-Pot's own web server. Whom it asks for a password and lets in is the operator. */
const nginx: Honeypot = {
  name: "nginx",
  recognizes: (record) => ["msec", "connection_serial", "src_ip", "request_uri"].every((name) => name in record),
  application: "http",
  time: "msec",
  read(record) {
    const status = Number(textAt(record, "status"));
    const isLetIn = (status >= 200 && status < 400) || status === 404 || status >= 500;
    if (textAt(record, "remote_user") !== undefined && isLetIn) return { ignored: "operator" };
    return request(record, {
      method: textAt(record, "request_method"),
      host: textAt(record, "http_host"),
      target: textAt(record, "request_uri"),
      userAgent: textAt(record, "http_user_agent"),
      referer: textAt(record, "http_referer"),
    });
  },
};

const tanner: Honeypot = {
  name: "tanner",
  writesUtc: true,
  recognizes: (record) => textAt(record, "peer.ip") !== undefined && "path" in record && "method" in record,
  application: "http",
  port: 80,
  read: (record) => ({
    sourceIp: textAt(record, "peer.ip"),
    sourceMembers: ["peer.ip"],
    sourcePort: portAt(record, "peer.port"),
    ...request(
      record,
      {
        method: textAt(record, "method"),
        target: textAt(record, "path"),
        ...(isFields(record.post_data) && { body: JSON.stringify(record.post_data) }),
      },
      record.headers,
    ),
  }),
};

const wordpot: Honeypot = {
  name: "wordpot",
  recognizes: (record) => "plugin" in record && "browser_family" in record && "src_ip" in record,
  application: "http",
  readLine: readWordpotLine,
  read(record) {
    if ("probed" in record) return { ignored: "no-behaviour" };
    return {
      labels: textsAt(record, "plugin").map((plugin) => `wordpot:${plugin}`),
      ...request(
        record,
        {
          method: textAt(record, "method"),
          ...targetOf(textAt(record, "url")),
          userAgent: textAt(record, "user_agent"),
        },
        objectAt(record, "headers"),
      ),
    };
  },
};

export const WEB_HONEYPOTS: readonly Honeypot[] = [
  beelzebub,
  ciscoasa,
  citrixhoneypot,
  elasticpot,
  galah,
  goPot,
  h0neytr4p,
  hellpot,
  honeyaml,
  ipphoney,
  log4pot,
  nginx,
  tanner,
  wordpot,
];
