import { splitAddress } from "../../addresses.ts";
import { type Fields, isFields, portAt, textAt, textsAt, toText } from "../../fields.ts";
import { MAX_PAYLOAD_LENGTH, readPayload } from "../payload.ts";
import { type Honeypot, loginOf, spokenIn } from "./honeypot.ts";
import { request } from "./request.ts";

/** Beelzebub with any of its services. T-Pot's has flat members; elsewhere they are in `event`. */
export const beelzebub: Honeypot = {
  name: "beelzebub",
  recognizes: (record) =>
    textAt(record, "event.RemoteAddr") !== undefined ||
    ["service", "status", "session", "protocol", "src_ip"].every((name) => name in record),
  logsItself: true,
  read(record) {
    const { event } = record;
    const flat = isFields(event) ? flatten(event) : record;
    const spoken = spokenIn(flat);
    const command = textAt(flat, "command");
    const sent = command === undefined ? {} : readPayload(Buffer.from(command.slice(0, MAX_PAYLOAD_LENGTH)));
    const target = textAt(flat, "request_uri");
    // A session's start repeats the user name of the login before it.
    const login = textAt(flat, "password") === undefined ? {} : loginOf(flat);
    return {
      ...spoken,
      ...sent,
      ...(isFields(event) && {
        observedAt: event.DateTime,
        sourceIp: textAt(flat, "src_ip"),
        sourcePort: portAt(flat, "src_port"),
        session: textAt(flat, "session"),
      }),
      sourceMembers: ["src_ip", "event.RemoteAddr"],
      credentials: [],
      ...login,
      commands: [...textsAt(flat, "input"), ...(command === undefined || sent.http !== undefined ? [] : [command])],
      ssh: { banner: textAt(flat, "client", "client_version") },
      ...(target !== undefined &&
        request(flat, {
          method: textAt(flat, "request_method"),
          host: textAt(flat, "hostname"),
          target,
          userAgent: textAt(flat, "userAgent"),
        })),
    };
  },
};

function flatten(event: Fields): Fields {
  const { address, port } = splitAddress(toText(event.RemoteAddr) ?? "");
  return {
    src_ip: address,
    src_port: port ?? event.SourcePort,
    session: event.ID,
    protocol: event.Protocol,
    username: event.User,
    password: event.Password,
    client: event.Client,
    command: event.Command,
    request_uri: event.RequestURI,
    request_method: event.HTTPMethod,
    hostname: event.HostHTTPRequest,
    userAgent: event.UserAgent,
    body: event.Body,
  };
}
