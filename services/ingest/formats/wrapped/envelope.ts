import { at, type Fields, isFields, textAt, toText } from "../fields.ts";

/** What a shipper says about the record that it carries: it counts where the record itself says nothing. */
export type Envelope = {
  readonly sensor?: string | undefined;
  /** As the shipper writes it. */
  readonly time?: unknown;
};

/** Where shippers name the machine that they read the record on, in the order in which the first counts. */
const SENSOR_PATHS = [
  "host.name",
  "host.hostname",
  "host",
  "hostname",
  "_HOSTNAME",
  "agent.name",
  "agent.hostname",
  "beat.name",
  "beat.hostname",
  "observer.name",
  "observer.hostname",
  "kubernetes.pod.name",
  "kubernetes.pod_name",
];
/** Those that no record of a sensor has for something else: `host` may be what the visitor asked for. */
const UNAMBIGUOUS_PATHS = SENSOR_PATHS.filter((path) => path !== "host" && path !== "hostname");
const TIME_PATHS = ["@timestamp", "time", "timestamp", "_time", "date", "ts"];
/** journald counts microseconds. */
const MICROSECONDS = ["_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"];

/** What an object around a record says. */
export function readEnvelope(wrapper: Fields): Envelope {
  return { sensor: textAt(wrapper, ...SENSOR_PATHS), time: timeIn(wrapper) };
}

/** Whether a shipper may have written its name into a record. Most have none of these; named one by one, it costs nothing. */
export function mayNameSensor(record: Fields): boolean {
  return (
    "host" in record ||
    "agent" in record ||
    "hostname" in record ||
    "host.name" in record ||
    "agent.name" in record ||
    "beat" in record ||
    "observer" in record ||
    "kubernetes" in record ||
    "_HOSTNAME" in record
  );
}

/**
 * The sensor that a shipper has written into the record itself, among the sensor's own members.
 * @param isOwnHost whether a text `host` can only be the sensor's.
 */
export function readMixedSensor(record: Fields, isOwnHost: boolean): string | undefined {
  return textAt(record, ...(isOwnHost ? SENSOR_PATHS : UNAMBIGUOUS_PATHS));
}

/** Two envelopes, one in the other: the inner one is nearer to the sensor. */
export function nestEnvelopes(outer: Envelope | undefined, inner: Envelope): Envelope {
  return { sensor: inner.sensor ?? outer?.sensor, time: inner.time ?? outer?.time };
}

/** When a shipper read a record. */
export function timeIn(wrapper: Fields): unknown {
  for (const path of TIME_PATHS) {
    const value = at(wrapper, path);
    if (toText(value) !== undefined || (isFields(value) && "$date" in value)) return value;
  }
  const microseconds = textAt(wrapper, ...MICROSECONDS);
  return microseconds !== undefined && /^\d{16}$/.test(microseconds) ? Number(microseconds) / 1_000 : undefined;
}

/**
 * All that may stand before a record on its line: priority, time, host and program of syslog, a container's stream.
 * It ends before the first word of a message: a visitor may have sent what follows.
 */
const HEAD = new RegExp(
  [
    /^(?:<\d{1,3}>(?:1 )?)?/,
    /(?:([A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (\S+) )?/,
    /(?:[FP] |\S+: ?|\S+ \S+ \S+ (?:-|\[.*\]) ?|\S+ +\| )?(?:@cee: ?)?$/,
  ]
    .map(({ source }) => source)
    .join(""),
);
/** What stands in a host's place but is none: a program, where the host is left out, or a container's stream. */
const NO_HOST = /[:[\]]|^(?:stdout|stderr|-)$/;

/** Reads the head before a record on its line; undefined when more than a head stands there. */
export function readHead(head: string): Envelope | undefined {
  const found = HEAD.exec(head.replaceAll("\ufeff", ""));
  if (found === null) return undefined;
  const [, time, host = "-"] = found;
  return { time, sensor: NO_HOST.test(host) ? undefined : host };
}
