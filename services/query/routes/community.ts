import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { formatDate } from "@noisefloor/domain/window.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyInstance } from "fastify";
import type { AddressRecord, LookUpAddress } from "../address-lookup.ts";
import type { Authenticate } from "../auth.ts";
import type { LookupLimit } from "../lookup-limit.ts";

export const COMMUNITY_PATH = "/v3/community/:ip";

/** Existing clients compare these two texts letter by letter. */
const NOT_ROUTABLE = "Request is not a valid routable IPv4 address";
const NOT_FOUND = "IP not observed scanning the internet or contained in RIOT data set.";

export type CommunityDeps = {
  readonly lookUp: LookUpAddress;
  readonly authenticate: Authenticate;
  readonly limit: LookupLimit;
  /** What links start with, without a slash at the end. */
  readonly publicUrl: string;
  /** The page that a refused caller is pointed to. */
  readonly plansUrl: string;
};

/** `GET /v3/community/{ip}`: is this address Internet background noise, or a known benign service? SPEC, endpoint 1. */
export function registerCommunity(app: FastifyInstance, deps: CommunityDeps): void {
  app.get<{ Params: { ip: string } }>(COMMUNITY_PATH, async (request, reply) => {
    const { ip } = request.params;
    if (!isRoutableIpv4(ip)) throw new HttpError(400, NOT_ROUTABLE);
    const caller = deps.authenticate(request);
    const permit = await deps.limit.take(caller, request.ip);
    reply.headers(permit.headers);
    if (!permit.isGranted) throw limitReached(caller.plan, permit.limit ?? 0, deps.plansUrl);
    const record = await deps.lookUp(ip).catch(async (error: unknown) => {
      await permit.giveBack();
      throw error;
    });
    return toAnswer(ip, record, deps.publicUrl);
  });
}

/** SPEC, Rate-limit object. */
function limitReached(plan: string, limit: number, plansUrl: string): HttpError {
  const message = `You have hit your daily rate limit of ${limit} requests per day. See ${plansUrl} for plans with more.`;
  return new HttpError(429, message, { plan, "rate-limit": `${limit}-lookups/day`, plan_url: plansUrl });
}

/** Riot decides over the name and the link, noise over the classification and the date, when an address is both. */
function toAnswer(ip: string, { noise, riot }: AddressRecord, publicUrl: string) {
  if (noise === undefined && riot === undefined) throw new HttpError(404, NOT_FOUND, { ip, noise: false, riot: false });
  return {
    ip,
    noise: noise !== undefined,
    riot: riot !== undefined,
    classification: noise?.classification ?? "benign",
    name: riot?.name ?? noise?.actor ?? "unknown",
    link: `${publicUrl}/${riot === undefined ? "ip" : "riot"}/${ip}`,
    last_seen: formatDate(noise?.lastSeen ?? riot?.refreshedAt ?? 0),
    message: "Success",
  };
}
