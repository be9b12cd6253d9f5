import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { formatDate } from "@noisefloor/domain/window.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyInstance } from "fastify";
import type { AddressRecord, LookUpAddress } from "../address-lookup.ts";
import type { Authenticate } from "../auth.ts";

export const COMMUNITY_PATH = "/v3/community/:ip";

/** Existing clients compare these two texts letter by letter. */
const NOT_ROUTABLE = "Request is not a valid routable IPv4 address";
const NOT_FOUND = "IP not observed scanning the internet or contained in RIOT data set.";

/** `GET /v3/community/{ip}`: is this address Internet background noise, or a known benign service? SPEC, endpoint 1. */
export function registerCommunity(
  app: FastifyInstance,
  deps: { readonly lookUp: LookUpAddress; readonly publicUrl: string; readonly authenticate: Authenticate },
): void {
  app.get<{ Params: { ip: string } }>(COMMUNITY_PATH, async (request) => {
    const { ip } = request.params;
    if (!isRoutableIpv4(ip)) throw new HttpError(400, NOT_ROUTABLE);
    deps.authenticate(request);
    return toAnswer(ip, await deps.lookUp(ip), deps.publicUrl);
  });
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
