import { MEMBERS } from "@noisefloor/domain/observation/members.ts";
import { toObservation } from "../../draft.ts";
import { at, type Fields, isFields, listAt, portAt, textAt, textsAt, toText } from "../../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../../format.ts";
import { parseJson } from "../../json/parse.ts";
import { cowrie, readFirstLine, typedText } from "../cowrie.ts";
import { heralding } from "../heralding.ts";
import { loginOf, spokenIn, transportOf } from "../honeypots/honeypot.ts";
import { otherHoneypots } from "../honeypots/honeypots.ts";
import { honeytrap } from "../honeytrap.ts";
import { opencanary } from "../opencanary.ts";
import { CHANNELS, endsOf } from "./hpfeeds-channels.ts";

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

/** What publishers log to a file as well: its format reads the payload. */
const LOGGED: readonly LogFormat[] = [cowrie, heralding, honeytrap, opencanary, otherHoneypots];

function decodeMessage(record: Fields, options: DecodeOptions): Decoded {
  const payload = readPublished(record.payload);
  if (payload === undefined) return { rejection: { reason: "not-json", detail: "the payload is not a JSON object" } };
  const channel = textAt(record, "channel") ?? "";
  const sensor = textAt(record, "ident") ?? textAt(payload, "sensor");
  const observedAt = timeOf(payload, record, options);
  const label = `hpfeeds:${channel}`;
  if (channel === "cowrie.sessions" || channel === "kippo.sessions") {
    return toObservation({ format: "hpfeeds", observedAt, sensor, ...sessionOf(payload, channel) }, options);
  }
  const read = CHANNELS.get(channel);
  const logged = read === undefined ? LOGGED.find(({ json }) => json?.recognizes(payload)) : undefined;
  if (logged?.json !== undefined) {
    const sensorId = options.sensorId ?? sensor;
    const decoded = logged.json.decode({ timestamp: observedAt, ...payload }, { ...options, sensorId });
    return "observation" in decoded ? { ...decoded, observation: labelled(decoded.observation, label) } : decoded;
  }
  const reading = read?.(payload) ?? { ...spokenIn(payload), ...loginOf(payload) };
  if ("ignored" in reading) return reading;
  const ends = endsOf(payload);
  return toObservation(
    {
      payloadSha256: textsAt(payload, "sha256"),
      ...reading,
      format: "hpfeeds",
      observedAt,
      sensor,
      ...ends,
      destinationPort: ends.destinationPort ?? reading.destinationPort,
      transport: reading.transport ?? transportOf(reading.application),
      labels: [label, ...(reading.labels ?? [])],
    },
    options,
  );
}

function labelled(observation: Fields, label: string): Fields {
  return { ...observation, labels: [label, ...textsAt(observation, "labels")].slice(0, MEMBERS.labels.maxItems) };
}

function sessionOf(payload: Fields, channel: string) {
  const loggedIn = at(payload, "loggedin");
  const pairs = [...listAt(payload, "credentials"), ...(Array.isArray(loggedIn) ? [loggedIn] : [])];
  const typed = channel === "cowrie.sessions" ? typedText : toText;
  const credentials = pairs.flatMap((pair) =>
    Array.isArray(pair) ? [{ username: typed(pair[0]), password: typed(pair[1]) }] : [],
  );
  const session = textAt(payload, "session");
  // More are not kept, and comparing them with thousands of words takes seconds.
  const commands = textsAt(payload, "commands").slice(0, MEMBERS.commands.maxItems);
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
    established: true,
    application: textAt(payload, "protocol") ?? (channel === "kippo.sessions" ? "ssh" : undefined),
    session,
    credentials,
    loginAttempts: credentials.length,
    commands: [...commands, ...unknown],
    urls: textsAt(payload, "urls"),
    payloadSha256: textsAt(payload, "hashes"),
    ...readFirstLine(typed(payload.version)),
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
