import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { lookUpMany } from "../../address/store-lookup.ts";
import { compileSearch } from "../../conditions/compile-bitmaps.ts";
import { ATTACKED } from "../../conditions/names.ts";
import { STATS_COST } from "../../costs.ts";
import { classification, count, ip, timestamp } from "../../wire.ts";
import { feedAddresses } from "../lists/queries.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { managerOf } from "../requests/readers.ts";
import { FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";
import { reasonMembers, toWireReason } from "./wire-reason.ts";

const MAX_ADDRESSES = 1_000;
const ALL = 2 ** 32 - 1;

const { attacked: _always, ...reason } = reasonMembers;

/** `GET /v3/guard/attackers`. */
export const getGuardedAttackers = defineOperation({
  ...FEEDS,
  id: "getGuardedAttackers",
  method: "GET",
  path: "/v3/guard/attackers",
  summary: "Addresses of the guard that attacked: logged in, ran a command, downloaded or left a payload",
  description:
    "Their owners should know. The guard holds them back all the same, but for those of known benign actors: feeds may list these.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The addresses in numeric order.",
    schema: z
      .strictObject({
        count: count.describe("How many there are."),
        addresses: z
          .array(
            z
              .strictObject({
                ip,
                ...reason,
                guarded: z.boolean().describe("Whether the guard holds it back."),
                classification,
                last_seen: timestamp,
              })
              .meta({ id: "GuardedAttacker" }),
          )
          .describe(`The first ${MAX_ADDRESSES} of them.`),
      })
      .meta({ id: "GuardedAttackers" }),
    example: {
      count: 1,
      addresses: [
        {
          ip: "192.175.48.6",
          reason: "actor",
          name: "Census",
          network: "",
          note: "",
          guarded: false,
          classification: "malicious",
          last_seen: "2026-11-20T12:00:00Z",
        },
      ],
    },
  },
  errorResponses: { 401: UNAUTHORIZED },
});

export function registerGuardedAttackers(app: FastifyInstance, deps: FeedRouteDeps): void {
  app.implement(getGuardedAttackers, async (request, _reply, { signal }) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    return app.admission.run(request, STATS_COST, signal, async () => {
      const guard = deps.feeds.guardOf(workspaceId);
      const from = retentionStart(deps.now(), deps.retentionDays());
      const compiled = compileSearch(ATTACKED, { scopes: [GLOBAL_SCOPE], from, isOwnSensorsOnly: false });
      const rows = await deps.read(feedAddresses(compiled), { ...compiled.params, limit: ALL }, signal);
      const attackers = rows.flatMap((row) => Array.from(row.addresses));
      const found = attackers.flatMap((address) => {
        const reason = guard(address, false);
        return reason === undefined ? [] : { ip: numberToIpv4(address), address, reason };
      });
      const shown = found.toSorted((one, other) => one.address - other.address).slice(0, MAX_ADDRESSES);
      const records = await lookUpMany(
        shown.map((one) => one.ip),
        [GLOBAL_SCOPE],
        deps,
        signal,
      );
      return {
        count: found.length,
        addresses: shown.flatMap(({ ip, address, reason }) => {
          const noise = records.get(ip)?.noise;
          if (noise === undefined) return [];
          const { attacked: _, ...why } = toWireReason(reason, true);
          return {
            ip,
            ...why,
            guarded: guard(address, true) !== undefined,
            classification: noise.classification,
            last_seen: formatTimestamp(noise.lastSeen),
          };
        }),
      };
    });
  });
}
