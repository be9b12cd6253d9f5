import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { World } from "../world.ts";
import { GLOBAL, worstSql } from "./severities.ts";

/** Between several values of a cell; no value has it. */
export const SEPARATOR = "\u001f";

/** The cells of a row, in their order. Texts are in lower case, but for codes of countries. */
export const COLUMNS = [
  "ip",
  "tag",
  "port",
  "country",
  "asn",
  "hassh",
  "classification",
  "path",
  "useragent",
  "organization",
  "last_seen",
] as const;

/**
 * Writes what peers of the search know: a row of tab-separated cells for each address of the global dataset, in the
 * order of the addresses. An address is in dotted decimal, a time in milliseconds since 1970 UTC.
 */
export async function writeSearchRows(world: World, file: string): Promise<void> {
  const { client, tags } = world;
  const list = (values: string) => `arrayStringConcat(arraySort(${values}), '${SEPARATOR}')`;
  const distinct = (text: string) => list(`groupUniqArrayIf(${text}, ${text} != '')`);
  const intentions = `[${INTENTIONS.map((name) => `'${name}'`)}]`;
  const { stream } = await client.exec({
    query: `SELECT toString(source_ip),
        ${list("arrayMap(tag -> transform(toString(tag), {ids:Array(String)}, {slugs:Array(String)}, ''), groupUniqArrayArray(tags))")},
        ${distinct("ifNull(toString(destination_port), '')")},
        ${distinct("toString(country)")},
        ${distinct("if(asn = 0, '', toString(asn))")},
        ${distinct("ssh_hassh")},
        ${intentions}[1 + max(${worstSql(world)})],
        ${distinct("lowerUTF8(http_path)")},
        ${distinct("lowerUTF8(http_user_agent)")},
        ${distinct("lowerUTF8(toString(organization))")},
        toUnixTimestamp64Milli(max(observed_at))
      FROM observations WHERE ${GLOBAL} GROUP BY source_ip ORDER BY source_ip FORMAT TSVRaw`,
    query_params: { ids: tags.map(({ id }) => id), slugs: tags.map(({ slug }) => slug) },
    clickhouse_settings: { max_execution_time: 0 },
  });
  await pipeline(stream, createWriteStream(file));
}
