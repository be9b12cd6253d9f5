import { defineQuery, type Read } from "@noisefloor/clickhouse/client/query.ts";
import type { FastifyBaseLogger } from "fastify";
import { z } from "zod";
import type { AddressSet } from "../conditions/address-set.ts";
import { type CompiledSearch, searchParams } from "../conditions/compile-bitmaps.ts";

const SLOW_MS = 5_000;
/** Hundreds of conditions would load the store again, and no log line has room for them. */
const MAX_SETS = 32;

const countConditions = ({ countSets }: CompiledSearch) =>
  defineQuery({
    name: "search-conditions",
    sql: countSets(),
    combine: (results) => `SELECT number, sum(result.rows) AS rows, sum(result.addresses) AS addresses
        FROM ${results} AS result GROUP BY number`,
    params: searchParams,
    row: z.object({ number: z.int(), rows: z.int(), addresses: z.int() }),
  });

/**
 * Reads as `read` does. Of a query that took long or longer than it may, it logs what each condition of the search
 * costs, without the values that it has.
 */
export function logSlow(read: Read, compiled: CompiledSearch, log: FastifyBaseLogger, slowMs = SLOW_MS): Read {
  return async (definition, params, signal) => {
    const start = performance.now();
    try {
      return await read(definition, params, signal);
    } finally {
      const ms = Math.round(performance.now() - start);
      if (ms >= slowMs) void logConditions(read, compiled, log, { query: definition.name, ms });
    }
  };
}

let isLogging = false;

/** One at a time, as the store has much to do when searches are slow. */
async function logConditions(read: Read, compiled: CompiledSearch, log: FastifyBaseLogger, slow: object) {
  const { sets, params } = compiled;
  if (isLogging || sets.length > MAX_SETS) return log.warn({ ...slow, conditions: sets.length }, "slow search");
  isLogging = true;
  try {
    const rows = await read(countConditions(compiled), params);
    const conditions = sets.map((set, index) => {
      const { rows: read = 0, addresses = 0 } = rows.find(({ number }) => number === index) ?? {};
      return { condition: describe(set), rows: read, addresses };
    });
    log.warn({ ...slow, conditions }, "slow search");
  } catch (error) {
    log.warn({ ...slow, err: error, conditions: sets.map(describe) }, "slow search");
  } finally {
    isLogging = false;
  }
}

/** Like `path in 2 texts` or `counted days`. */
function describe(set: AddressSet): string {
  switch (set.type) {
    case "facet": {
      const texts = set.match.type === "in" ? ` ${set.match.texts.length} texts` : "";
      return `${set.field} ${set.match.type}${texts}${set.after === undefined ? "" : " since a time"}`;
    }
    case "listed":
      return `listed ${set.kind}`;
    case "counted":
      return `counted ${set.of}`;
    default:
      return set.type;
  }
}
