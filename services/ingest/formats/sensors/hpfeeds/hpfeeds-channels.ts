import { acceptedOver, type Draft, type HttpDraft, splitTarget } from "../../draft.ts";
import { type Fields, listAt, portAt, textAt, textsAt } from "../../fields.ts";
import type { IgnoredReason } from "../../format.ts";
import { dionaeaApplication, ignoredConnection, isAccepted } from "../dionaea.ts";
import { loginOf, spokenIn, transportOf } from "../honeypots/honeypot.ts";
import { MAX_PAYLOAD_LENGTH, readHeaderFields, readHttpRequest, readPayload, toHeaderFields } from "../payload.ts";

/** What a channel's payload says beyond addresses and ports, or why it is no observation. */
type Reading = Partial<Draft> | { readonly ignored: IgnoredReason };

/** The channels whose payloads have members of their own. Publishers choose the names; these are the usual ones. */
export const CHANNELS: ReadonlyMap<string, (payload: Fields) => Reading> = new Map<
  string,
  (payload: Fields) => Reading
>([
  ["amun.events", () => ({ transport: "tcp", established: true })],
  ["beeswarm.hive", (payload) => ({ ...spokenIn(payload), ...loginOf(payload) })],
  ["big-hp.events", webRequest],
  ["conpot.events", conpot],
  ["dionaea.capture", (payload) => ({ transport: "tcp", established: true, urls: textsAt(payload, "url") })],
  ["dionaea.connections", dionaeaConnection],
  ["elastichoney.events", elastichoney],
  ["glastopf.events", glastopf],
  ["honeydb-agent.events", honeydb],
  [
    "mwbinary.dionaea.sensorunique",
    (payload) => ({ transport: "tcp", established: true, urls: textsAt(payload, "url") }),
  ],
  ["p0f.events", (payload) => ({ transport: "tcp", labels: known(payload, "os").map((system) => `p0f:${system}`) })],
  [
    "rdphoney.sessions",
    (payload) => ({ transport: "tcp", established: true, application: "rdp", ...loginOf(payload) }),
  ],
  ["shockpot.events", (payload) => ({ ...webRequest(payload), commands: textsAt(payload, "command") })],
  ["snort.alerts", (payload) => alert("snort", payload)],
  ["spylex.events", webRequest],
  ["ssh-auth-logger.events", sshLogin],
  ["suricata.events", (payload) => alert("suricata", payload)],
  ["wordpot.events", (payload) => ({ ...webRequest(payload), ...loginOf(payload) })],
]);

/** p0f writes `???` for what it does not know. */
const known = (payload: Fields, member: string) => textsAt(payload, member).filter((text) => text !== "???");

function webRequest(payload: Fields): Partial<Draft> {
  const url = splitTarget(textAt(payload, "url"));
  const path = textAt(payload, "path") ?? url.path;
  const query = textAt(payload, "query_string") ?? url.query;
  const headers = readHeaderFields(toHeaderFields(payload.headers));
  const http: HttpDraft = {
    ...headers,
    method: textAt(payload, "method"),
    host: headers.host ?? url.host,
    target: textAt(payload, "full_path") ?? (query === undefined ? path : `${path}?${query}`),
    userAgent: textAt(payload, "user_agent") ?? headers.userAgent,
    body: textAt(payload, "body", "form_data"),
  };
  return { transport: "tcp", application: "http", http };
}

/** Its header fields have the names of their Python members. */
function elastichoney(payload: Fields): Reading {
  const { http, ...rest } = webRequest(payload);
  const command = textAt(payload, "payloadCommand");
  return {
    ...rest,
    application: "elasticsearch",
    destinationPort: 9_200,
    http: { ...http, userAgent: textAt(payload, "headers.user_agent"), body: textAt(payload, "payload", "form") },
    commands: command === undefined ? [] : [[command, ...textsAt(payload, "payloadResource")].join(" ")],
  };
}

function glastopf(payload: Fields): Reading {
  const request = readHttpRequest(textAt(payload, "request_raw", "request") ?? "");
  const target = textAt(payload, "request_url", "request.url");
  const http = request ?? (target === undefined ? undefined : { method: textAt(payload, "request.method"), target });
  return { transport: "tcp", application: "http", destinationPort: 80, http };
}

function dionaeaConnection(payload: Fields): Reading {
  const [type, transport] = [textAt(payload, "connection_type"), textAt(payload, "connection_transport")];
  const protocol = textAt(payload, "connection_protocol") ?? "";
  const ignored = ignoredConnection(type, transport, protocol);
  if (ignored !== undefined) return { ignored };
  return { transport, established: isAccepted(type, transport), application: dionaeaApplication(protocol) };
}

function conpot(payload: Fields): Reading {
  const { application } = spokenIn(payload);
  return { application, established: acceptedOver(transportOf(application)), session: textAt(payload, "id") };
}

/** `TX` is what the sensor sent back. */
function honeydb(payload: Fields): Reading {
  if (textAt(payload, "event") === "TX") return { ignored: "answer" };
  const sent = readPayload(Buffer.from(textAt(payload, "data")?.slice(0, MAX_PAYLOAD_LENGTH) ?? "", "hex"));
  const { transport } = spokenIn(payload);
  return {
    transport,
    established: acceptedOver(transport),
    application: textAt(payload, "service")?.toLowerCase(),
    ...sent,
  };
}

function alert(program: string, payload: Fields): Reading {
  const signature = textAt(payload, "signature");
  const isOfEngine = signature?.startsWith("SURICATA ") === true;
  return {
    transport: spokenIn(payload).transport,
    labels: signature === undefined || isOfEngine ? [] : [`${program}:${signature}`],
  };
}

function sshLogin(payload: Fields): Reading {
  const username = textAt(payload, "duser");
  const password = textAt(payload, "password");
  return {
    transport: "tcp",
    established: true,
    application: "ssh",
    ssh: { banner: textAt(payload, "client_version") },
    ...(username !== undefined && { credentials: [{ username, password }], loginAttempts: 1 }),
  };
}

/** The members with the source and its port, by whichever sensor. */
const SOURCE_MEMBERS = [
  "remote_host",
  "saddr",
  "attackerIP",
  "attacker_ip",
  "source_ip",
  "src_ip",
  "client_ip",
  "peerIP",
  "src",
];
const SOURCE_PORTS = [
  "remote_port",
  "sport",
  "attackerPort",
  "attacker_source_port",
  "source_port",
  "src_port",
  "client_port",
  "peerPort",
  "spt",
];
const DESTINATION_PORTS = [
  "local_port",
  "dport",
  "victimPort",
  "honey_port",
  "destination_port",
  "dest_port",
  "dst_port",
  "server_port",
  "hostPort",
  "dpt",
];
/** Lists of an address and a port. */
const SOURCE_LISTS = ["source", "remote"];

export function endsOf(payload: Fields): Pick<Draft, "sourceIp" | "sourceMembers" | "sourcePort" | "destinationPort"> {
  const source = SOURCE_LISTS.map((member) => listAt(payload, member)).find((list) => list.length > 0) ?? [];
  const local = listAt(payload, "local");
  return {
    sourceIp: textAt(payload, ...SOURCE_MEMBERS) ?? textAt({ address: source[0] }, "address"),
    sourceMembers: [...SOURCE_MEMBERS, ...SOURCE_LISTS],
    sourcePort: portAt(payload, ...SOURCE_PORTS) ?? portAt({ port: source[1] }, "port"),
    destinationPort: portAt(payload, ...DESTINATION_PORTS) ?? portAt({ port: local[1] }, "port"),
  };
}
