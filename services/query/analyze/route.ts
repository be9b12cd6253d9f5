import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { sightingsVersion } from "@noisefloor/clickhouse/tags/address-tags.ts";
import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { callerOf } from "@noisefloor/http/limits/caller.ts";
import { memoryBudget } from "@noisefloor/http/requests/memory-budget.ts";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import { limitBodies, senderNetwork } from "@noisefloor/http/requests/request-bodies.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { streamContexts } from "../address/read-contexts.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { bulkCost } from "../costs.ts";
import { rejectUnread } from "../reject-unread.ts";
import { keepAnalyses } from "./kept-analyses.ts";
import { ANALYSIS, analyzeText, getTextAnalysis, type TextAnalysis } from "./operations.ts";
import { NO_FILE, readUpload, UploadedAddresses } from "./read-upload.ts";
import { summarize } from "./summarize.ts";

export function registerAnalyze(app: FastifyInstance, deps: RouteDeps): void {
  const kept = keepAnalyses(deps.now);
  /** The version of the sightings that an analysis was made of. */
  const versions = new WeakMap<TextAnalysis, string>();
  const readVersion = async (signal: AbortSignal) => (await deps.read(sightingsVersion, {}, signal))[0]?.version ?? "";
  const summarizeAll = (ips: readonly string[], request: FastifyRequest, signal: AbortSignal) =>
    app.admission.run(request, bulkCost(ips.length, false), signal, () =>
      summarize(streamContexts(ips, [GLOBAL_SCOPE], true, deps, signal), deps.catalogue),
    );
  // In a scope of its own: elsewhere a body is JSON, whatever its type.
  app.register(async (scope) => {
    limitBodies(scope, {
      budget: memoryBudget(MEMORY_LIMITS.uploads),
      senderOf: senderNetwork,
      busyMessage: "Too many texts are uploaded at once: send it again in a few seconds",
    });
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) =>
      readUpload(payload, request.headers),
    );
    scope.implement(
      analyzeText,
      async (request, reply, deadline) => {
        const caller = deps.authenticate(request);
        if (!(request.body instanceof UploadedAddresses)) throw new HttpError(400, NO_FILE);
        const { ips } = request.body;
        const version = await readVersion(deadline.signal);
        const details = await deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
          summarizeAll(ips, request, deadline.signal),
        );
        const analysis = { uuid: randomUUID(), state: "completed" as const, ...details };
        versions.set(analysis, version);
        kept.add(analysis, callerOf(request));
        return analysis;
      },
      { preParsing: rejectUnread(app, deps.authenticate), config: { hasOwnBodyLimits: true } },
    );
  });

  app.implement(getTextAnalysis, async (request, _reply, { signal }) => {
    deps.authenticate(request);
    const found = kept.get(readPath(request.params.uuid, ANALYSIS), callerOf(request));
    if (found === undefined) throw new HttpError(404, "Analysis not found");
    const version = await readVersion(signal);
    if (version === versions.get(found)) return found;
    // Observations may have been removed since: an analysis must not tell of them.
    const { noise_ips_found: noise, riot_ips_found: riot, unknown_ips: unknown } = found.details;
    const details = await summarizeAll([...new Set([...noise, ...riot, ...unknown])], request, signal);
    const analysis = { ...found, ...details };
    versions.set(analysis, version);
    kept.replace(analysis);
    return analysis;
  });
}
