import { readFileSync } from "node:fs";
import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { Settings } from "@noisefloor/config/settings.ts";
import { timeZone } from "@noisefloor/domain/time/zone.ts";
import { splitAddress } from "@noisefloor/ingest/formats/addresses.ts";
import { findFormats, LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { fieldMapFormat, fieldMapSchema } from "@noisefloor/ingest/formats/field-map.ts";
import type { DecodeOptions, LogFormat } from "@noisefloor/ingest/formats/format.ts";
import { parse } from "yaml";
import { z } from "zod";
import { UserError } from "./framework/command.ts";

/** What the settings say about sensors' logs. */
export type SensorFormats = {
  /** Field maps first: `auto` prefers what the user wrote. */
  readonly formats: readonly LogFormat[];
  readonly decode: DecodeOptions;
};

/** Reads the field maps. @throws UserError for one that cannot be read. */
export function readSensorFormats({ sensorLogs, kafka }: Pick<Settings, "sensorLogs" | "kafka">): SensorFormats {
  const maps = sensorLogs.fieldMaps.map(readFieldMap);
  const taken = maps.find(({ name }, index) =>
    [...LOG_FORMATS, ...maps.slice(0, index)].some((format) => format.name === name),
  );
  if (taken !== undefined) throw new UserError(`FIELD_MAPS: the name "${taken.name}" belongs to another format`);
  const formats = [...maps, ...LOG_FORMATS];
  const unknown = kafka?.rawTopics.find(({ format }) => findFormats(format, formats) === undefined);
  if (unknown !== undefined) throw new UserError(`KAFKA_RAW_TOPICS: there is no log format "${unknown.format}"`);
  const own = networks(sensorLogs.ownAddresses);
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
      isOwnAddress(text) {
        const { address } = splitAddress(text);
        return isIPv4(address) ? own.check(address, "ipv4") : isIPv6(address) && own.check(address, "ipv6");
      },
      publicPort: (port) => rewrites.get(port) ?? port,
      countsAccepted: sensorLogs.countsAcceptedPackets,
      timeZoneOf: (sensor, format) => zones.get(sensor) ?? zones.get(format) ?? zones.get("*"),
    },
  };
}

function readFieldMap(path: string): LogFormat {
  try {
    const map = fieldMapSchema.safeParse(parse(readFileSync(path, "utf8")));
    if (!map.success) throw new Error(z.prettifyError(map.error));
    return fieldMapFormat(map.data);
  } catch (error) {
    throw new UserError(`FIELD_MAPS: ${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function networks(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = "", prefix] = text.split("/");
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
