import type { TagCatalogue } from "@noisefloor/clickhouse/tag-catalogue.ts";
import { isRoutableIpv4 } from "@noisefloor/domain/ipv4.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyError, FastifyInstance } from "fastify";
import { addressContexts } from "../address-context.ts";
import type { LookupDeps } from "../address-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { REQUEST_METADATA, toFullContext, toQuickContext } from "../context-answer.ts";
import { type Parameter, type RawQuery, readParameter } from "../parameters.ts";
import { MAX_BODY_BYTES, readAddresses } from "../request-body.ts";
import { readRooms } from "../scopes.ts";

export const IP_PATH = "/v3/ip/:ip";
export const IPS_PATH = "/v3/ip";

const QUICK: Parameter<boolean> = {
  name: "quick",
  takes: "true, false, 1 or 0",
  fallback: false,
  // One SDK writes Python's booleans.
  read: (text) =>
    ["true", "True", "1"].includes(text) ? true : ["false", "False", "0"].includes(text) ? false : undefined,
};

export type IpDeps = LookupDeps & { readonly catalogue: TagCatalogue; readonly authenticate: Authenticate };

/** `GET /v3/ip/{ip}` and `POST /v3/ip`: everything known of one address or of up to 10,000. API, operations 4 and 5. */
export function registerIp(app: FastifyInstance, deps: IpDeps): void {
  app.get<{ Params: { ip: string }; Querystring: RawQuery }>(IP_PATH, async (request) => {
    const { ip } = request.params;
    const caller = deps.authenticate(request);
    if (!isRoutableIpv4(ip)) throw new HttpError(400, "Invalid parameter: ip");
    const quick = readParameter(request.query, QUICK);
    const rooms = readRooms("ip", request.query, caller);
    const context = (await addressContexts([ip], rooms, !quick, deps)).get(ip) ?? {};
    const answer = quick ? toQuickContext(ip, context) : toFullContext(ip, context, deps.catalogue);
    return { ...answer, request_metadata: REQUEST_METADATA };
  });

  // Whatever is wrong with this operation's body is a 400, its size too.
  const errorHandler = (error: FastifyError) => {
    throw error.code === "FST_ERR_CTP_BODY_TOO_LARGE"
      ? new HttpError(400, "The request body is larger than 1 MiB")
      : error;
  };
  app.post<{ Querystring: RawQuery }>(IPS_PATH, { bodyLimit: MAX_BODY_BYTES, errorHandler }, async (request) => {
    const caller = deps.authenticate(request);
    const ips = readAddresses(request.body);
    const quick = readParameter(request.query, QUICK);
    const rooms = readRooms("ip", request.query, caller);
    // Clients find their own strings again in the answer, byte for byte, each once.
    const asked = [...new Set(ips)];
    const contexts = await addressContexts(asked.filter(isRoutableIpv4), rooms, !quick, deps);
    const found = asked.filter((ip) => {
      const context = contexts.get(ip);
      return context?.noise !== undefined || context?.riot !== undefined;
    });
    const isFound = new Set(found);
    return {
      data: found.map((ip) => {
        const context = contexts.get(ip) ?? {};
        return quick ? toQuickContext(ip, context) : toFullContext(ip, context, deps.catalogue);
      }),
      request_metadata: { ...REQUEST_METADATA, message: "", ips_not_found: asked.filter((ip) => !isFound.has(ip)) },
    };
  });
}
