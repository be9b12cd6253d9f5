import { numberToIpv4 } from "@noisefloor/domain/ipv4.ts";
import { TRANSPORTS } from "@noisefloor/domain/observation.ts";
import { parse } from "csv-parse";
import { z } from "zod";
import type { LogFormat } from "./format.ts";
import { tagsForPort } from "./port-tags.ts";

const rowSchema = z.object({
  raw: z.string(),
  record: z.object({
    datetime: z.string().default(""),
    host: z.string().default(""),
    src: z.string().default(""),
    proto: z.string().default(""),
    type: z.string().default(""),
    spt: z.string().default(""),
    dpt: z.string().default(""),
  }),
});
type MarxRow = z.infer<typeof rowSchema>["record"];

/**
 * The CSV of the "marx" AWS honeypots: `datetime,host,src,proto,type,spt,dpt`. `src` is the address as an unsigned
 * integer, times are UTC without a zone, `type` is the ICMP type. The log names no tags: the destination port does.
 */
export const marxFormat: LogFormat = {
  name: "marx",
  description: "CSV of the marx AWS honeypots (datetime,host,src,proto,type,spt,dpt)",
  async *read(stream) {
    const rows = stream.pipe(
      parse({ columns: true, raw: true, relax_column_count: true, relax_quotes: true, skip_empty_lines: true }),
    );
    stream.on("error", (error) => rows.destroy(error));
    for await (const row of rows) {
      const { raw, record } = rowSchema.parse(row);
      yield { bytes: Buffer.from(raw.trimEnd()), value: toObservation(record) };
    }
  },
};

function toObservation(row: MarxRow): Record<string, unknown> {
  const transport = TRANSPORTS.find((name) => name === row.proto.toLowerCase());
  const destinationPort = toNumber(row.dpt);
  return {
    observed_at: `${row.datetime.replace(" ", "T")}Z`,
    sensor_id: row.host,
    source_ip: toAddress(row.src),
    // A protocol that we have no name for is passed on as it is, and refused with that reason.
    ...(row.proto === "" ? {} : { transport: transport ?? row.proto }),
    ...optional("source_port", toNumber(row.spt)),
    ...optional("destination_port", destinationPort),
    tags: transport === undefined ? [] : tagsForPort(transport, destinationPort),
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

function optional(name: string, value: number | undefined): Record<string, number> {
  return value === undefined ? {} : { [name]: value };
}
