import { hash } from "node:crypto";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import type { DecodeOptions, LogFormat } from "../format.ts";
import { QUOTE_NOT_CLOSED, readCsvLine } from "../text/csv.ts";

const COLUMNS = ["datetime", "host", "src", "proto", "type", "spt", "dpt"] as const;
type MarxRow = Readonly<Record<(typeof COLUMNS)[number], string>>;

/**
 * The CSV of the "marx" AWS honeypots: `datetime,host,src,proto,type,spt,dpt`. `src` is the address as an unsigned
 * integer, times are UTC without a zone, `type` is the ICMP type.
 */
export const marx: LogFormat = {
  name: "marx",
  description: "CSV of the marx AWS honeypots (datetime,host,src,proto,type,spt,dpt)",
  text: {
    recognizes: (line) => line.startsWith("datetime,host,src,"),
    open() {
      let header: readonly string[] | undefined;
      return (line, options) => {
        const fields = readCsvLine(line);
        if (fields === undefined) return { rejection: QUOTE_NOT_CLOSED };
        if (header === undefined) {
          header = fields;
          return { ignored: "header" };
        }
        return { observation: toObservation(toRow(header, fields), line, options) };
      };
    },
  },
};

function toRow(header: readonly string[], fields: readonly string[]): MarxRow {
  const at = (column: (typeof COLUMNS)[number]) => fields[header.indexOf(column)] ?? "";
  return {
    datetime: at("datetime"),
    host: at("host"),
    src: at("src"),
    proto: at("proto"),
    type: at("type"),
    spt: at("spt"),
    dpt: at("dpt"),
  };
}

function toObservation(row: MarxRow, line: string, { sensorId, publicPort }: DecodeOptions): Record<string, unknown> {
  const transport = TRANSPORTS.find((name) => name === row.proto.toLowerCase());
  const destinationPort = toNumber(row.dpt);
  return {
    observed_at: `${row.datetime.replace(" ", "T")}Z`,
    observation_id: `raw:${hash("sha256", line).slice(0, 32)}`,
    sensor_id: sensorId ?? row.host,
    source_ip: toAddress(row.src),
    // An unknown protocol is passed on as it is, and rejected with that reason.
    ...(row.proto === "" ? {} : { transport: transport ?? row.proto }),
    ...optional("source_port", row.spt),
    ...optional("destination_port", destinationPort === undefined ? row.dpt : String(publicPort(destinationPort))),
    ...(row.type === "" ? {} : { metadata: { icmp_type: toNumber(row.type) ?? row.type } }),
  };
}

/** Text that is no such integer is passed on, so that the rejection shows it. */
function toAddress(text: string): string {
  const value = toNumber(text);
  return value !== undefined && value <= 0xffffffff ? numberToIpv4(value) : text;
}

function toNumber(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Text that is no number is passed on, so that the rejection shows it. */
function optional(name: string, text: string): Record<string, number | string> {
  return text === "" ? {} : { [name]: toNumber(text) ?? text };
}
