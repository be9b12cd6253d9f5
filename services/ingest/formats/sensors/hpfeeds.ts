import { MAX_ITEMS } from "@noisefloor/domain/observation/schema.ts";
import { toObservation } from "../draft.ts";
import { at, type Fields, isFields, listAt, portAt, textAt, textsAt, toText } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";
import { parseJson } from "../json/parse.ts";
import { readHttpRequest } from "./payload.ts";

/** Messages of hpfeeds brokers, as collectors export them: channel, publisher and what it published. */
export const hpfeeds: LogFormat = {
  name: "hpfeeds",
  description: "hpfeeds messages as JSON (channel, ident, payload), also as MHN exports them",
  json: {
    signs: "channel, ident and payload",
    recognizes: (record) => textAt(record, "channel") !== undefined && "payload" in record && "ident" in record,
    resembles: (record) => /^[\w-]+\.[\w.-]+$/.test(textAt(record, "channel") ?? "") && "payload" in record,
    decode: decodeMessage,
  },
};

/** The source's address by channel: each sensor calls it otherwise. */
const SOURCES = ["remote_host", "saddr", "attackerIP", "source_ip", "src_ip", "client_ip", "peerIP"];

function decodeMessage(record: Fields, options: DecodeOptions): Decoded {
  const payload = readPublished(record.payload);
  if (payload === undefined) return { rejection: { reason: "not-json", detail: "the payload is not a JSON object" } };
  const channel = textAt(record, "channel") ?? "";
  const common = {
    format: "hpfeeds",
    observedAt: timeOf(payload, record, options),
    sensor: textAt(record, "ident") ?? textAt(payload, "sensor"),
    labels: [`hpfeeds:${channel}`],
  };
  if (channel === "cowrie.sessions" || channel === "kippo.sessions") {
    return toObservation({ ...common, ...sessionOf(payload, channel) }, options);
  }
  const request = textAt(payload, "request_raw", "request");
  return toObservation(
    {
      ...common,
      sourceIp: textAt(payload, ...SOURCES) ?? toText(listAt(payload, "source")[0]),
      sourceMembers: [...SOURCES, "source"],
      sourcePort:
        portAt(payload, "remote_port", "sport", "attackerPort", "source_port", "src_port", "client_port") ??
        portAt({ port: listAt(payload, "source")[1] }, "port"),
      destinationPort:
        portAt(
          payload,
          "local_port",
          "dport",
          "victimPort",
          "destination_port",
          "dest_port",
          "dst_port",
          "server_port",
        ) ?? (channel === "glastopf.events" ? 80 : undefined),
      transport: textAt(payload, "connection_transport", "proto", "protocol", "transport"),
      application: channel === "glastopf.events" ? "http" : textAt(payload, "connection_protocol", "app_proto"),
      http: request === undefined ? undefined : { target: textAt(payload, "request_url"), ...readHttpRequest(request) },
      urls: textsAt(payload, "url"),
      payloadSha256: textsAt(payload, "sha256"),
    },
    options,
  );
}

function sessionOf(payload: Fields, channel: string) {
  const loggedIn = at(payload, "loggedin");
  const pairs = [...listAt(payload, "credentials"), ...(Array.isArray(loggedIn) ? [loggedIn] : [])];
  const credentials = pairs.flatMap((pair) =>
    Array.isArray(pair) ? [{ username: toText(pair[0]), password: toText(pair[1]) }] : [],
  );
  const session = textAt(payload, "session");
  // More are not kept, and comparing them with thousands of words takes seconds.
  const commands = textsAt(payload, "commands").slice(0, MAX_ITEMS.commands);
  // Cowrie lists the words that it does not know beside the lines that they stand in, Kippo instead of them.
  const unknown = textsAt(payload, "unknownCommands").filter(
    (word) => !commands.some((line) => line.includes(word.trim())),
  );
  return {
    sourceIp: textAt(payload, "peerIP"),
    sourceMembers: ["peerIP"],
    sourcePort: portAt(payload, "peerPort"),
    destinationPort: portAt(payload, "hostPort"),
    transport: "tcp",
    application: textAt(payload, "protocol") ?? (channel === "kippo.sessions" ? "ssh" : undefined),
    session,
    credentials,
    loginAttempts: credentials.length,
    commands: [...commands, ...unknown],
    urls: textsAt(payload, "urls"),
    payloadSha256: textsAt(payload, "hashes"),
    sshBanner: textAt(payload, "version"),
    labels: [`hpfeeds:${channel}`, ...(Array.isArray(loggedIn) ? ["cowrie:login.success"] : [])],
    ...(session !== undefined && { key: [session, textAt(payload, "startTime")] }),
  };
}

/** The payload is an object, or the text of one. */
function readPublished(payload: unknown): Fields | undefined {
  if (isFields(payload)) return payload;
  const parsed = parseJson(toText(payload) ?? "");
  return "value" in parsed && isFields(parsed.value) ? parsed.value : undefined;
}

/** Many payloads carry no time: the collector's counts then, else the present. */
function timeOf(payload: Fields, record: Fields, { now }: DecodeOptions): unknown {
  return (
    textAt(payload, "startTime", "timestamp", "time", "@timestamp") ??
    at(record, "timestamp") ??
    at(record, "time") ??
    new Date(now()).toISOString()
  );
}
