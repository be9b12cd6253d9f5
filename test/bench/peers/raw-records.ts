import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { makeEvents, type WireEvent } from "./events.ts";

/** A format of sensors, and records in it. */
export type RawFormat = {
  readonly name: string;
  /** The line that each message begins with. */
  readonly header?: string;
  /** The same seed makes the same ones. @param now milliseconds since 1970 UTC. */
  readonly records: (seed: number, count: number, now: number) => Iterable<object | string>;
};

const PATHS = [
  "/",
  "/robots.txt",
  "/.env",
  "/.git/config",
  "/wp-login.php",
  "/boaform/admin/formLogin",
  "/shell",
  "/a/b/c",
];
const USER_AGENTS = [
  "curl/8.5.0",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64)",
  "zgrab/0.x",
  "python-requests/2.31",
  "-",
];

const toCowrie = (event: WireEvent, number: number) => ({
  eventid: "cowrie.login.failed",
  username: "root",
  password: `password-${number % 500}`,
  message: `login attempt [root/password-${number % 500}] failed`,
  sensor: event.sensor_id,
  timestamp: event.observed_at,
  src_ip: event.source_ip,
  session: `session-${number}`,
  protocol: "ssh",
});

/** As T-Pot's Logstash sends them on. */
const toTpot = (event: WireEvent, number: number) => ({
  ...toCowrie(event, number),
  "@timestamp": event.observed_at,
  "@version": "1",
  type: "Cowrie",
  path: "/data/cowrie/log/cowrie.json",
  tags: [],
  geoip: { country_code2: event.country, as_org: event.organization, asn: event.asn, ip: event.source_ip },
  "t-pot_hostname": event.sensor_id,
  "t-pot_ip_ext": "192.0.2.1",
  "t-pot_ip_int": "10.0.0.2",
});

function toEve(event: WireEvent, number: number) {
  return {
    timestamp: event.observed_at,
    flow_id: number + 1,
    event_type: "http",
    host: event.sensor_id,
    src_ip: event.source_ip,
    src_port: event.source_port,
    dest_ip: "192.0.2.1",
    dest_port: event.destination_port,
    proto: "TCP",
    http: {
      hostname: "192.0.2.1",
      url: PATHS[number % PATHS.length],
      http_user_agent: USER_AGENTS[number % USER_AGENTS.length],
      http_method: "GET",
      protocol: "HTTP/1.1",
      length: 0,
    },
  };
}

function toMarx(event: WireEvent): string {
  const time = event.observed_at.slice(0, 19).replace("T", " ");
  const { sensor_id, source_ip, source_port, destination_port } = event;
  return `${time},${sensor_id},${ipv4ToNumber(source_ip)},TCP,,${source_port},${destination_port}`;
}

function* eachAs<Record>(each: (event: WireEvent, number: number) => Record, seed: number, count: number, now: number) {
  let number = 0;
  for (const event of makeEvents(seed, count, [], now)) yield each(event, number++);
}

/**
 * The benchmark's observations without tags, network and country, so that the service decodes them, looks for their
 * sessions, looks their networks up and matches its rules.
 */
export const RAW_FORMATS: readonly RawFormat[] = [
  { name: "cowrie", records: (...of) => eachAs(toCowrie, ...of) },
  { name: "suricata-eve", records: (...of) => eachAs(toEve, ...of) },
  { name: "tpot", records: (...of) => eachAs(toTpot, ...of) },
  { name: "marx", header: "datetime,host,src,proto,type,spt,dpt", records: (...of) => eachAs(toMarx, ...of) },
];
