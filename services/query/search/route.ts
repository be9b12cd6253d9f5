import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { REQUEST_METADATA } from "../address/response.ts";
import { describeSearch } from "./adjusted-query.ts";
import type { SearchRouteDeps } from "./answers.ts";
import { countSearch, searchIps } from "./operations.ts";
import { SEARCH_DAYS } from "./parameters.ts";
import { searchAll } from "./queries.ts";
import { compile, readSearch, searchCost } from "./search.ts";
import { logSlow } from "./slow-search.ts";

export function registerSearch(app: FastifyInstance, deps: SearchRouteDeps): void {
  app.implement(countSearch, async (request, reply, { signal }) => {
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const { count, matching } = await deps.answerSearch(app, { request, reply, signal }).counts(search);
    return { ...describeSearch(search, matching > count, reply), count };
  });

  app.implement(searchIps, async (request, reply, deadline, { toJsonArray }) => {
    const { signal } = deadline;
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const counted = await deps.answerSearch(app, { request, reply, signal }).counts(search);
    const compiled = compile(search);
    const read = logSlow(deps.read, compiled, request.log);
    const blocks =
      counted.count === 0
        ? []
        : await app.admission.run(request, searchCost(compiled), signal, () =>
            read(searchAll(compiled), compiled.params, signal),
          );
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
