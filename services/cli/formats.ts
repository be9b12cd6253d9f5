import { readdirSync, readFileSync } from "node:fs";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { join } from "node:path";
import type { Settings } from "@noisefloor/config/settings.ts";
import { timeZone } from "@noisefloor/domain/time/zone.ts";
import { splitAddress } from "@noisefloor/ingest/formats/addresses.ts";
import { findFormats, LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { fieldMapFormat } from "@noisefloor/ingest/formats/field-maps/format.ts";
import { readFieldMap } from "@noisefloor/ingest/formats/field-maps/read.ts";
import type { DecodeOptions, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import { UserError } from "./framework/command.ts";
import { FIELD_MAPS_DIRECTORY } from "./paths.ts";

/** What the settings say about sensors' logs. */
export type SensorFormats = {
  /** The user's field maps first, which `auto` prefers; those that come along last. */
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
};

/** Reads the field maps. @throws UserError for one that cannot be read. */
export function readSensorFormats({ sensorLogs, kafka }: Pick<Settings, "sensorLogs" | "kafka">): SensorFormats {
  const formats = readFormats(sensorLogs.fieldMaps).map(({ format }) => format);
  const unknown = kafka?.rawTopics.find(({ format }) => findFormats(format, formats) === undefined);
  if (unknown !== undefined) throw new UserError(`KAFKA_RAW_TOPICS: there is no log format "${unknown.format}"`);
  const rewrites = new Map(
    sensorLogs.portRewrites.map((pair): [number, number] => {
      const [from = "", to = ""] = pair.split("=");
      return [Number(from), Number(to)];
    }),
  );
  const zones = new Map(sensorLogs.timeZones.map(([name, zone]) => [name, timeZone(zone)]));
  return {
    formats,
    decode: {
      now: Date.now,
      isOwnAddress: networks(sensorLogs.ownAddresses),
      publicPort: (port) => rewrites.get(port) ?? port,
      countsAccepted: sensorLogs.countsAcceptedPackets,
      timeZoneOf: (sensor, format, writesUtc) =>
        zones.get(sensor) ?? zones.get(format) ?? (writesUtc ? undefined : zones.get("*")),
    },
  };
}

/** Says whether an address is one of OWN_ADDRESSES. */
export const ownAddressTest = ({ sensorLogs }: Pick<Settings, "sensorLogs">) => networks(sensorLogs.ownAddresses);

/** A format, and where it comes from. */
export type FormatSource = { readonly format: LogFormat; readonly origin: "built in" | "comes along" | "FIELD_MAPS" };

/** All formats in the order in which `auto` tries them. @throws UserError for a field map that cannot be read. */
export function readFormats(paths: readonly string[]): FormatSource[] {
  const own = paths.map((path) => openFieldMap(path));
  const taken = own.find(({ name }, index) =>
    [...LOG_FORMATS, ...own.slice(0, index)].some((format) => format.name === name),
  );
  if (taken !== undefined) throw new UserError(`FIELD_MAPS: the name "${taken.name}" belongs to another format`);
  const alongside = readdirSync(FIELD_MAPS_DIRECTORY)
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => openFieldMap(join(FIELD_MAPS_DIRECTORY, name)))
    // A user's map replaces the built-in one of the same name.
    .filter(({ name }) => !own.some((map) => map.name === name));
  return [
    ...own.map((format): FormatSource => ({ format, origin: "FIELD_MAPS" })),
    ...LOG_FORMATS.map((format): FormatSource => ({ format, origin: "built in" })),
    ...alongside.map((format): FormatSource => ({ format, origin: "comes along" })),
  ];
}

function openFieldMap(path: string): LogFormat {
  const read = readFieldMap(readMapFile(path));
  if ("map" in read) return fieldMapFormat(read.map);
  throw new UserError(`FIELD_MAPS: ${path}: ${read.problems.join("; ")}`);
}

function readMapFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UserError(`FIELD_MAPS: ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** @returns whether an address, which may have a port after it, is in one of the networks. */
export function networks(texts: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of texts) {
    const [address = "", prefix] = text.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (text) => {
    const { address } = splitAddress(text);
    return isIPv4(address) ? list.check(address, "ipv4") : isIPv6(address) && list.check(address, "ipv6");
  };
}
