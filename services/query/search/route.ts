import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { REQUEST_METADATA } from "../address/response.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import type { CompiledSearch } from "../conditions/compile-bitmaps.ts";
import { describeSearch } from "./adjusted-query.ts";
import { countSearch, searchIps } from "./operations.ts";
import { SEARCH_DAYS } from "./parameters.ts";
import { searchAll, searchCounts } from "./queries.ts";
import { compile, readSearch, searchCost } from "./search.ts";
import { logSlow } from "./slow-search.ts";

export function registerSearch(app: FastifyInstance, deps: RouteDeps): void {
  const readCount = async (compiled: CompiledSearch, read: Read, signal: AbortSignal) => {
    const query = searchCounts(compiled);
    return onlyRow(query, await read(query, compiled.params, signal));
  };

  app.implement(countSearch, async (request, reply, { signal }) => {
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const compiled = compile(search);
    const read = logSlow(deps.read, compiled, request.log);
    const { count, matching } = await app.admission.run(request, searchCost(compiled), signal, () =>
      readCount(compiled, read, signal),
    );
    return { ...describeSearch(search, matching > count, reply), count };
  });

  app.implement(searchIps, async (request, reply, deadline, { toJsonArray }) => {
    const { signal } = deadline;
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const compiled = compile(search);
    const read = logSlow(deps.read, compiled, request.log);
    const { counted, blocks } = await app.admission.run(request, searchCost(compiled), signal, async () => {
      const counted = await readCount(compiled, read, signal);
      return {
        counted,
        blocks: counted.count === 0 ? [] : await read(searchAll(compiled), compiled.params, signal),
      };
    });
    const count = blocks.reduce((sum, { source_ip }) => sum + source_ip.length, 0);
    const { caller } = search;
    return deps.countLookups({ request, reply, caller, lookups: count, deadline }, async () => ({
      ips: await toJsonArray(addressesOf(blocks)),
      request_metadata: {
        ...REQUEST_METADATA,
        message: "" as const,
        ...describeSearch(search, counted.matching > counted.count, reply),
        count,
      },
    }));
  });
}

type Blocks = readonly { readonly source_ip: ArrayLike<number> & Iterable<number> }[];

function* addressesOf(blocks: Blocks): Generator<string> {
  for (const { source_ip } of blocks) for (const address of source_ip) yield numberToIpv4(address);
}
