import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type HttpIntake, ROUTE_OPTIONS } from "../http/intake.ts";
import { sensorKeyOf } from "../http/senders.ts";

/** The version whose calls are answered. Clients of later ones send these, too, and older ones ask for no more. */
const VERSION = "8.19.0";
const CLUSTER = { cluster_name: "noisefloor", cluster_uuid: "bm9pc2VmbG9vcg" };

const INFO = {
  name: "noisefloor",
  ...CLUSTER,
  version: {
    number: VERSION,
    build_flavor: "default",
    build_type: "docker",
    lucene_version: "9.12.2",
    minimum_wire_compatibility_version: "7.17.0",
    minimum_index_compatibility_version: "7.0.0",
  },
  tagline: "You Know, for Search",
};
const LICENSE = { license: { status: "active", type: "basic", mode: "basic", uid: CLUSTER.cluster_uuid } };
const HEALTH = { cluster_name: CLUSTER.cluster_name, status: "green", timed_out: false, number_of_nodes: 1 };

/** Clients that look for other nodes keep to the one that they have. */
const nodesOf = ({ host }: FastifyRequest) => ({
  cluster_name: CLUSTER.cluster_name,
  nodes: { noisefloor: { name: "noisefloor", version: VERSION, roles: ["data"], http: { publish_address: host } } },
});

/** What clients look for, and write where it is missing. All of it is there, whatever its name. */
const SETTINGS = [
  "/_ilm/policy",
  "/_index_template",
  "/_component_template",
  "/_template",
  "/_ingest",
  "/_data_stream",
  "/_alias",
];

/** What clients read. */
const READ: readonly (readonly [paths: readonly string[], answer: (request: FastifyRequest) => unknown])[] = [
  [["/_license"], () => LICENSE],
  [["/_xpack"], () => ({ ...LICENSE, features: { ilm: { available: true, enabled: true } } })],
  [["/_cluster/health", "/_cluster/health/*"], () => HEALTH],
  [["/_cat/health"], () => [HEALTH]],
  [["/_nodes", "/_nodes/*"], nodesOf],
  [SETTINGS.flatMap((name) => [name, `${name}/*`]), () => ({})],
];

/** The name of an index, unlike that of a version of the interface. */
const INDEX_ROUTE = "/:index(^(?!v\\d+$)[a-z0-9][a-z0-9_.-]*$)";

/** Whether a request for `/` comes from a client of Elasticsearch: browsers get the start page. */
function isElasticsearchClient({ method, headers }: IncomingMessage): boolean {
  const { "user-agent": agent = "", accept = "" } = headers;
  if (/elastic|logstash|beat\/|vector\//i.test(agent)) return true;
  return (method === "HEAD" || accept.includes("json")) && !accept.includes("html");
}

/** Whether a request may be one of Elasticsearch's clients: one for another route may have the same path. */
export function isElasticsearchRequest(request: IncomingMessage, path: string): boolean {
  if (path === "/") return isElasticsearchClient(request);
  return /^\/(?:_|[a-z0-9][a-z0-9_.-]*(?:\/_|$))/.test(path);
}

const CONFIG = { ...ROUTE_OPTIONS.config, operation: "elasticsearchHandshake", keyOf: "sensor" } as const;

/** Adds what clients ask first: whether an Elasticsearch is there. A key is not needed; one that is sent must be known. */
export function registerInfo(scope: FastifyInstance, senderOf: HttpIntake["senderOf"]): void {
  scope.addConstraintStrategy({
    name: "isElasticsearchClient",
    storage: () => {
      const handlers = new Map();
      return {
        get: (value) => handlers.get(value) ?? null,
        set: (value, handler) => void handlers.set(value, handler),
      };
    },
    deriveConstraint: (request) => /^\/(?:\?|$)/.test(request.url ?? "") && isElasticsearchClient(request),
  });
  scope.get("/", { config: CONFIG, constraints: { isElasticsearchClient: true } }, async (request) => {
    if (sensorKeyOf(request) !== "") await senderOf(request);
    return INFO;
  });
}

/** Adds what clients ask before they send anything. */
export function registerHandshake(scope: FastifyInstance): void {
  const options = { ...ROUTE_OPTIONS, config: CONFIG };
  for (const [paths, answer] of READ) {
    for (const path of paths) scope.get(path, options, async (request) => answer(request));
  }
  const acknowledge = async () => ({ acknowledged: true });
  for (const url of [...SETTINGS.map((name) => `${name}/*`), INDEX_ROUTE, `${INDEX_ROUTE}/_mapping`]) {
    scope.put(url, options, acknowledge);
  }
  // Clients make an index or an alias that is not there.
  for (const url of [INDEX_ROUTE, `${INDEX_ROUTE}/_alias/*`]) {
    scope.head(url, options, async (_request, reply) => reply.send());
  }
}
