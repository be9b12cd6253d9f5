import { describeOperations, type OpenApiDocument } from "@noisefloor/http/operations/openapi.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { descriptionSchema, operationsOf } from "../fuzz/drafts.ts";
import { atVolume } from "../volume.ts";

/** @returns how an answer differs from the interface's description; undefined when it does not. */
export type CheckDescribed = (method: string, url: string, status: number, body: unknown) => string | undefined;

/** Checks answers against a description: the statuses of each operation and the schemas of bodies that have one. */
export function checkAgainst(document: OpenApiDocument): CheckDescribed {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, "description");
  const compiled = new Map<string, ValidateFunction | undefined>();
  const literal = (path: string) => path.replace(/\{\w+\}/g, "");
  // As the router does: of `/v3/feeds/{name}` and `/v3/feeds/{name}.{form}` the one that says more.
  const paths = Object.keys(document.paths ?? {})
    .toSorted((one, other) => literal(other).length - literal(one).length)
    .map((path) => ({ path, pattern: new RegExp(`^/*${path.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]*")}$`) }));

  const mediaTypes = new Map(
    operationsOf(descriptionSchema.parse(document)).map((one) => [`${one.method} ${one.path}`, one.mediaTypes]),
  );
  const validatorOf = (path: string, method: string, status: number) => {
    // The first media type is that with the schema.
    const [mediaType = "application/json"] = mediaTypes.get(`${method.toUpperCase()} ${path}`)?.[status] ?? [];
    const steps = ["paths", path, method.toLowerCase(), "responses", String(status), "content", mediaType, "schema"];
    const ref = `description#/${steps.map((step) => encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;
    if (!compiled.has(ref)) compiled.set(ref, ajv.getSchema(ref));
    return compiled.get(ref);
  };

  return (method, url, status, body) => {
    const known = paths.find(({ pattern }) => pattern.test(url.split("?")[0] ?? ""));
    // Unknown paths and methods have no description: their answers have the shape of every error response.
    const isOther = known === undefined || status === 405;
    const validate = isOther ? undefined : validatorOf(known.path, method, status);
    if (isOther) return isMessage(body) ? undefined : `${method} ${url}: ${status} without a message`;
    if (validate === undefined) return `${method} ${known.path}: the status ${status} is not described`;
    if (validate(body)) return undefined;
    return `${method} ${url}: ${status} ${ajv.errorsText(validate.errors, { dataVar: "body" })}`;
  };
}

function isMessage(body: unknown): boolean {
  return typeof body === "object" && body !== null && "message" in body && typeof body.message === "string";
}

const check = checkAgainst(describeOperations([...QUERY_OPERATIONS, ...INGEST_OPERATIONS]));

/** Max items of a list that are checked: the same code makes the others. */
const MAX_ITEMS = atVolume(200, Number.POSITIVE_INFINITY);

function shortened(body: unknown): unknown {
  if (Array.isArray(body)) return body.slice(0, MAX_ITEMS);
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? value.slice(0, MAX_ITEMS) : value]),
  );
}

/** The paths of all nulls in an answer: clients call text and list methods without a check. */
function nullsIn(value: unknown, path = "body"): readonly string[] {
  if (value === null) return [path];
  if (typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, member]) => nullsIn(member, `${path}.${name}`));
}

/** Throws when an answer differs from the interface's description, or holds a null. */
export function expectDescribed(method: string, url: string, status: number, body: unknown): void {
  const nulls = nullsIn(shortened(body));
  if (nulls.length > 0) throw new Error(`${method} ${url}: null in ${nulls.join()}`);
  const fault = check(method, url, status, shortened(body));
  if (fault !== undefined) throw new Error(`not as described: ${fault}`);
}
