import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { SHARED_GLOBAL } from "@noisefloor/domain/scope.ts";
import { DAY_MS, formatDate, formatTimestamp } from "@noisefloor/domain/window.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { addressContexts } from "../address-context.ts";
import type { AddressRecord, LookUpAddress, LookupDeps } from "../address-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { toFullContext } from "../context-answer.ts";
import { readAddresses } from "../request-body.ts";
import { toWireTag } from "../wire-tag.ts";

/** Operations of an earlier version of this interface, kept because existing clients call them. API, section 7. */
export const LEGACY_PATHS = {
  ping: "/ping",
  quick: "/v2/noise/quick/:ip",
  multiQuick: "/v2/noise/multi/quick",
  riot: "/v2/riot/:ip",
  context: "/v2/noise/context/:ip",
  metadata: "/v2/meta/metadata",
} as const;

/** Clients check that this day lies ahead; keys do not expire here. */
const EXPIRATION_DAYS = 365;

export type LegacyDeps = LookupDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly lookUp: LookUpAddress;
};

export function registerLegacy(app: FastifyInstance, deps: LegacyDeps): void {
  app.get(LEGACY_PATHS.ping, async (request) => {
    const { plan, workspaceId } = deps.authenticate(request);
    if (workspaceId === undefined) throw new HttpError(401, "Unauthorized");
    const expiration = formatDate(deps.now() + EXPIRATION_DAYS * DAY_MS);
    return { message: "pong", expiration, offering: "enterprise", address: request.ip, plan, modules: "" };
  });

  app.get<{ Params: { ip: string } }>(LEGACY_PATHS.quick, async (request) => {
    deps.authenticate(request);
    const { ip } = request.params;
    return toQuick(ip, isRoutableIpv4(ip) ? await deps.lookUp(ip) : undefined);
  });

  app.post(LEGACY_PATHS.multiQuick, async (request) => {
    deps.authenticate(request);
    const asked = [...new Set(readAddresses(request.body))];
    const known = await addressContexts(asked.filter(isRoutableIpv4), [SHARED_GLOBAL], false, deps);
    return asked.map((ip) => toQuick(ip, known.get(ip)));
  });

  app.get<{ Params: { ip: string } }>(LEGACY_PATHS.riot, async (request) => {
    const ip = routable(request);
    deps.authenticate(request);
    const { riot } = await deps.lookUp(ip);
    if (riot === undefined) return { ip, riot: false };
    const { name, category, description, explanation, reference, trustLevel, refreshedAt } = riot;
    return {
      ip,
      riot: true,
      category,
      name,
      description,
      explanation,
      last_updated: formatTimestamp(refreshedAt),
      reference,
      trust_level: trustLevel,
    };
  });

  app.get<{ Params: { ip: string } }>(LEGACY_PATHS.context, async (request) => {
    const ip = routable(request);
    deps.authenticate(request);
    const context = (await addressContexts([ip], [SHARED_GLOBAL], true, deps)).get(ip);
    if (context?.noise === undefined) return { ip, seen: false };
    const { found, tags, cves, ...scanner } = toFullContext(ip, context, deps.catalogue).internet_scanner_intelligence;
    return { ip, seen: found, ...scanner, tags: tags.map((tag) => tag.name), cve: cves };
  });

  app.get(LEGACY_PATHS.metadata, async (request) => {
    deps.authenticate(request);
    return { metadata: deps.catalogue.all().map((tag) => toWireTag(tag, deps.catalogue)) };
  });
}

function routable(request: FastifyRequest<{ Params: { ip: string } }>): string {
  if (isRoutableIpv4(request.params.ip)) return request.params.ip;
  throw new HttpError(400, "Invalid parameter: ip");
}

/** `0x00` never seen, `0x01` noise, `0x07` no valid address, `0x09` riot, `0x10` both. */
function toQuick(ip: string, record: AddressRecord | undefined) {
  const noise = record?.noise !== undefined;
  const riot = record?.riot !== undefined;
  const code = record === undefined ? "0x07" : noise && riot ? "0x10" : riot ? "0x09" : noise ? "0x01" : "0x00";
  return { ip, noise, riot, code };
}
