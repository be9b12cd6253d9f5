import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import { type OperationRequest, registerOperation } from "@noisefloor/http/operation.ts";
import { readPath } from "@noisefloor/http/parameters.ts";
import type { Deadline } from "@noisefloor/http/requests/deadline.ts";
import type { FastifyInstance, FastifyReply } from "fastify";
import { type LookupDeps, refreshOutdated } from "../address/store-lookup.ts";
import type { Authenticate } from "../auth.ts";
import { TIMELINE_COST } from "../costs.ts";
import { ADDRESS } from "../parameters.ts";
import type { CountLookups } from "../rate-limit/count-lookups.ts";
import { readScopes } from "../scopes.ts";
import { getAddressInteraction, getAddressTags } from "./operations.ts";
import { countEntries, type EntryList, type OfAddress, readEntries, readTags } from "./queries.ts";

export type NoiseDeps = LookupDeps & {
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
};

/** `GET /v3/noise/ips/{ip}/...`, besides the timeline: details of an address, with the scopes of the timeline. */
export function registerNoise(app: FastifyInstance, deps: NoiseDeps): void {
  registerOperation(app, getAddressTags, (request, reply, deadline) =>
    readAddress(app, deps, { request, reply, deadline }, (asked) => tagsOf(asked, deps, deadline.signal)),
  );
  registerOperation(app, getAddressInteraction, (request, reply, deadline) =>
    readAddress(app, deps, { request, reply, deadline }, (asked) => interactionOf(asked, deps, deadline.signal)),
  );
}

type Call = {
  readonly request: OperationRequest<"/v3/noise/ips/{ip}/tags">;
  readonly reply: FastifyReply;
  readonly deadline: Deadline;
};

/** Checks a request about one address and counts it as a lookup. */
function readAddress<Answer>(
  app: FastifyInstance,
  { authenticate, countLookups, now, retentionDays }: NoiseDeps,
  { request, reply, deadline }: Call,
  read: (asked: OfAddress) => Promise<Answer>,
): Promise<Answer> {
  const caller = authenticate(request);
  const ip = readPath(request.params.ip, ADDRESS);
  const scopes = readScopes("timeline", request.query, caller);
  const since = retentionStart(now(), retentionDays());
  return countLookups({ request, reply, caller, lookups: 1, deadline }, () =>
    app.admission.run(request, TIMELINE_COST, deadline.signal, () => read({ ip, scopes, since })),
  );
}

/** Tags that are no longer in the catalogue have no name and are left out. */
async function tagsOf(asked: OfAddress, deps: NoiseDeps, signal: AbortSignal) {
  const [rows] = await Promise.all([deps.read(readTags, asked, signal), refreshOutdated(deps)]);
  const known = rows.flatMap((row) => {
    const tag = deps.catalogue.byId(row.id);
    return tag === undefined ? [] : [{ tag, row }];
  });
  known.sort((a, b) => b.row.last_seen - a.row.last_seen || (a.tag.slug < b.tag.slug ? -1 : 1));
  const tags = known.map(({ tag: { id, slug, name, category, intention }, row }) => ({
    id,
    slug,
    name,
    category,
    intention,
    first_seen: formatTimestamp(row.first_seen),
    last_seen: formatTimestamp(row.last_seen),
    observations: row.observations,
  }));
  return { ip: asked.ip, tags };
}

async function interactionOf(asked: OfAddress, { read }: NoiseDeps, signal: AbortSignal) {
  const [entries, counted] = await Promise.all([
    read(readEntries, asked, signal),
    read(countEntries, asked, signal).then((rows) => onlyRow(countEntries, rows)),
  ]);
  const inList = (wanted: EntryList) => entries.filter(({ list }) => list === wanted);
  return {
    ip: asked.ip,
    login_attempts: counted.login_attempts,
    credentials: inList("credentials").map(({ first: username, second: password, observations }) => ({
      username,
      password,
      observations,
    })),
    total_credentials: counted.credentials_total,
    commands: inList("commands").map(({ first: command, observations }) => ({ command, observations })),
    total_commands: counted.commands_total,
    urls: inList("urls").map(({ first: url, observations }) => ({ url, observations })),
    total_urls: counted.urls_total,
    payloads: inList("payloads").map(({ first: sha256, observations }) => ({ sha256, observations })),
    total_payloads: counted.payloads_total,
  };
}
