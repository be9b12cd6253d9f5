import type { CataloguedTag } from "@noisefloor/clickhouse/tags/tags.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { activityWindow, floorToHour, retentionStart } from "@noisefloor/domain/time/window.ts";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { blocksOf } from "../address-sets/hour-blocks.ts";
import type { AuthorizedCaller } from "../auth.ts";
import { CVE_COST } from "../costs.ts";
import { ADDRESSES_ROUTE, rejectBody } from "../request-body.ts";
import { CVE, CVE_ID, type Cve, getCve, getCves, MAX_CVES, NOT_KNOWN, WRONG_BODY } from "./operations.ts";
import { countPerCve } from "./queries.ts";

export function registerCves(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getCve, async (request, _reply, { signal }) => {
    const caller = deps.authenticate(request);
    const id = readPath(request.params.cve, CVE);
    const [cve] = await app.admission.run(request, CVE_COST, signal, () => readCves([id], caller, deps, signal));
    if (cve === undefined) throw new HttpError(404, "CVE not found");
    return cve;
  });
  app.implement(
    getCves,
    async (request, _reply, { signal }) => {
      const caller = deps.authenticate(request);
      const ids = readIds(request.body);
      return app.admission.run(request, CVE_COST, signal, () => readCves(ids, caller, deps, signal));
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, WRONG_BODY)) },
  );
}

/** Those of `{"cves": [...]}` that are well-formed. @throws HttpError 400 for any other body. */
function readIds(body: unknown): readonly string[] {
  const cves: unknown = typeof body === "object" && body !== null && "cves" in body ? body.cves : undefined;
  if (!Array.isArray(cves) || cves.length === 0 || cves.length > MAX_CVES) throw new HttpError(400, WRONG_BODY);
  return cves
    .map((id: unknown) => {
      if (typeof id !== "string") throw new HttpError(400, WRONG_BODY);
      return id;
    })
    .filter((id) => CVE_ID.test(id));
}

/** What is known of CVEs, in their order; without those that no tag names. */
async function readCves(
  ids: readonly string[],
  caller: AuthorizedCaller,
  deps: RouteDeps,
  signal: AbortSignal,
): Promise<Cve[]> {
  await refreshOutdated(deps);
  const tagsOf = new Map<string, CataloguedTag[]>(
    [...new Set(ids.map((id) => id.toUpperCase()))].map((id) => [id, []]),
  );
  for (const tag of deps.catalogue.all()) {
    for (const cve of new Set(tag.cves.map((id) => id.toUpperCase()))) tagsOf.get(cve)?.push(tag);
  }
  const known = [...tagsOf].filter(([, tags]) => tags.length > 0);
  if (known.length === 0) return [];
  const numbersOf = new Map<string, number[]>();
  for (const [number, [, tags]] of known.entries()) {
    for (const { id } of tags) numbersOf.set(id, [...(numbersOf.get(id) ?? []), number]);
  }
  const slice = { tags: [...numbersOf.keys()], cves: [...numbersOf.values()] };
  const since = retentionStart(deps.now(), deps.retentionDays());
  const params = { scopes: [GLOBAL_SCOPE], since, ...slice, ...windowsOf(caller, deps) };
  const rows = await deps.read(countPerCve, params, signal);
  return known.map(([id, tags], number) => {
    const countsOf = (isBenign: number) =>
      rows.find((row) => row.cve === number && row.is_benign === isBenign) ?? NO_IPS;
    return toCve(id, tags, { benign: countsOf(1), threat: countsOf(0) });
  });
}

/** The last 1, 10 and 30 days, in whole hours, as far as a caller may look back and observations are kept. */
function windowsOf(caller: AuthorizedCaller, { now, retentionDays }: RouteDeps) {
  const end = now();
  const since = floorToHour(retentionStart(end, retentionDays()));
  const spans = [1, 10, 30].map((days) => {
    const window = activityWindow(end, Math.min(days, caller.limits.reach_days));
    return { from: Math.max(window.start, since) / 1_000, end: window.end / 1_000 };
  });
  const whole = { from: Math.min(...spans.map(({ from }) => from)), end: Math.max(...spans.map((span) => span.end)) };
  const { first } = blocksOf(whole);
  const [masks1d = [], masks10d = [], masks30d = []] = spans.map((span) => blocksOf(whole, [span]).masks);
  return { first, end: whole.end, masks1d, masks10d, masks30d };
}

type Counts = { readonly ips_1d: number; readonly ips_10d: number; readonly ips_30d: number };
const NO_IPS: Counts = { ips_1d: 0, ips_10d: 0, ips_30d: 0 };

function toCve(
  id: string,
  [tag]: readonly CataloguedTag[],
  { benign, threat }: { readonly benign: Counts; readonly threat: Counts },
): Cve {
  return {
    id,
    details: {
      vulnerability_name: tag?.name ?? "",
      vulnerability_description: tag?.description ?? "",
      cve_cvss_score: 0,
      product: "",
      vendor: "",
      published_to_nist_nvd: false,
    },
    ...NOT_KNOWN,
    exploitation_activity: {
      activity_seen: benign.ips_30d + threat.ips_30d > 0,
      benign_ip_count_1d: benign.ips_1d,
      benign_ip_count_10d: benign.ips_10d,
      benign_ip_count_30d: benign.ips_30d,
      threat_ip_count_1d: threat.ips_1d,
      threat_ip_count_10d: threat.ips_10d,
      threat_ip_count_30d: threat.ips_30d,
    },
  };
}
