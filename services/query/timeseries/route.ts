import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { ToJsonArray } from "@noisefloor/http/response-bodies/response-body.ts";
import type { FastifyInstance } from "fastify";
import type { z } from "zod";
import { toFullContext } from "../address/response.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { toRecord } from "../address/store-lookup.ts";
import { timeseriesCost } from "../costs.ts";
import { namedSensorScopes } from "../parameters.ts";
import { adjustedQueryOf, setAdjustedQuery } from "../search/adjusted-query.ts";
import { INTERVAL, LIMIT, OFFSET, timeseries, timeseriesStats } from "./operations.ts";
import { bucketDetails, countMatching, listMatching } from "./queries.ts";
import { readSeries, type Series } from "./series.ts";

const HOURS = { hour: 1, day: 24 } as const;

export function registerTimeseries(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(timeseriesStats, async (request, reply, { signal }) => {
    const series = await readSeries(request, HOURS[readParameter(request.query, INTERVAL)], deps, signal);
    const cost = timeseriesCost({ days: series.days, conditions: series.conditions.columns.length });
    const rows = series.isEmpty
      ? []
      : await app.admission.run(request, cost, signal, () =>
          deps.read(countMatching(series.conditions), series.params, signal),
        );
    const countOf = new Map(rows.map(({ bucket, count }) => [bucket, count]));
    const counts = series.buckets.map((_, bucket) => countOf.get(bucket) ?? 0);
    setAdjustedQuery(reply, series.search);
    const adjusted = adjustedQueryOf(series.search);
    return {
      ...(adjusted === "" ? {} : { adjusted_query: adjusted }),
      count: counts.reduce((sum, one) => sum + one, 0),
      min: counts.length === 0 ? 0 : Math.min(...counts),
      max: Math.max(0, ...counts),
      data: series.buckets.map(({ start }, bucket) => ({ date: formatDateTime(start), count: counts[bucket] ?? 0 })),
    };
  });

  app.implement(timeseries, async (request, reply, deadline, { toJsonArray }) => {
    const { signal } = deadline;
    const series = await readSeries(request, HOURS.hour, deps, signal);
    const page = { limit: readParameter(request.query, LIMIT), offset: readParameter(request.query, OFFSET) };
    const cost = timeseriesCost({ days: series.days, conditions: series.conditions.columns.length });
    const pairs = series.isEmpty
      ? []
      : await app.admission.run(request, cost, signal, () =>
          deps.read(listMatching(series.conditions), { ...series.params, ...page }, signal),
        );
    const lookups = new Set(pairs.map(({ ip }) => ip)).size;
    const { caller } = series.search;
    setAdjustedQuery(reply, series.search);
    return deps.countLookups({ request, reply, caller, lookups, deadline }, () =>
      app.admission.run(request, cost, signal, () => listByHour(series, pairs, deps, signal, toJsonArray)),
    );
  });
}

type Pair = { readonly bucket: number; readonly ip: number };

/** Serialises the rows of an hour before those of the next are read: rows may be large. */
async function listByHour(
  series: Series,
  pairs: readonly Pair[],
  deps: RouteDeps,
  signal: AbortSignal,
  toJsonArray: ToJsonArray,
) {
  const rows = readRows(series, pairs, deps, signal);
  let next = await rows.next();
  async function* takeBucket(bucket: number) {
    for (; !next.done && next.value.bucket === bucket; next = await rows.next()) yield next.value.row;
  }
  const hours: Record<string, Awaited<ReturnType<typeof toJsonArray<Row>>>> = {};
  while (!next.done) {
    const { bucket } = next.value;
    hours[formatHour(series.buckets[bucket]?.start ?? 0)] = await toJsonArray(takeBucket(bucket));
  }
  return hours;
}

type Row = ReturnType<typeof toRow>;

/** Bounds the memory of a query. */
const PAIRS_PER_QUERY = 200;

async function* readRows(series: Series, pairs: readonly Pair[], deps: RouteDeps, signal: AbortSignal) {
  for (let start = 0; start < pairs.length; start += PAIRS_PER_QUERY) {
    const part = pairs.slice(start, start + PAIRS_PER_QUERY);
    const first = series.buckets[part[0]?.bucket ?? 0];
    const last = series.buckets[part.at(-1)?.bucket ?? 0];
    const { params } = series;
    const details = await deps.read(
      bucketDetails,
      {
        scopes: params.scopes,
        start: params.start,
        width: params.width,
        from: Math.max(params.from, first?.start ?? 0),
        end: last?.end ?? params.end,
        ips: [...new Set(part.map(({ ip }) => numberToIpv4(ip)))],
        pairs: part.map(({ bucket, ip }) => bucket * 2 ** 32 + ip),
      },
      signal,
    );
    const byPair = new Map(details.map((row) => [`${row.bucket} ${row.ip}`, row]));
    for (const { bucket, ip } of part) {
      const known = byPair.get(`${bucket} ${numberToIpv4(ip)}`);
      // Without, its observations have been removed since the pairs were found.
      if (known !== undefined) yield { bucket, row: toRow(known, series, deps) };
    }
  }
}

function toRow(
  { ip, latest, tag_ids, ...details }: z.output<(typeof bucketDetails)["row"]>,
  { search }: Series,
  deps: RouteDeps,
) {
  const namedScopes = namedSensorScopes(search.caller);
  const context = { ...toRecord(ip, { ip, latest, tag_ids }, deps), details: { ...details, ip } };
  const { internet_scanner_intelligence: scanner } = toFullContext(ip, context, deps.catalogue, namedScopes);
  return { ip, internet_scanner_intelligence: { ...scanner, tags: scanner.tags.map(({ name }) => name) } };
}

/** `2026-11-20 14:00:00.000` */
const formatDateTime = (time: number) => new Date(time).toISOString().slice(0, 23).replace("T", " ");
/** `2026-11-20-14` */
const formatHour = (time: number) => new Date(time).toISOString().slice(0, 13).replace("T", "-");
