import fc from "fast-check";
import { CONTENT_TYPES, formBodies, listBodies } from "./bodies.ts";
import { type Described, takesText } from "./described-values.ts";
import {
  type DescribedOperation,
  type Draft,
  expecting,
  type FuzzRequest,
  type Payload,
  percentEncoded,
  type Twist,
  toRequest,
} from "./drafts.ts";
import { intakeBodies } from "./intake-bodies.ts";
import { twistsOf } from "./mutations.ts";
import { sensorBodies } from "./sensor-bodies.ts";

/** The parts of requests that depend on the world under test. */
export type Surroundings = {
  /** Values that exist, by the parameter's name, or by `operation.parameter` where one operation has others. */
  readonly known: Readonly<Record<string, fc.Arbitrary<string>>>;
  /** Keys for requests to the intake and to the query interface; undefined sends none. */
  readonly keys: { readonly intake: readonly (string | undefined)[]; readonly query: readonly (string | undefined)[] };
  /** Addresses of callers. */
  readonly callers: readonly string[];
};

/** Requests for one operation: most with one or two deviations from the description, some without. */
export function requestsFor(
  operation: DescribedOperation,
  methodsOfPath: readonly string[],
  described: Described,
  { known, keys, callers }: Surroundings,
): fc.Arbitrary<FuzzRequest> {
  const isIntake = operation.path === "/" || /^\/(?:v1|services|loki)\/|\/_(?:bulk|doc)$/.test(operation.path);
  const { plain, odd } = bodiesOf(operation, described);
  const values = (place: "path" | "query") =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, schema }) => {
          const any = described
            .of(schema)
            .map(String)
            .filter((text) => takesText(schema, text));
          return [name, (known[`${operation.id}.${name}`] ?? known[name] ?? any).map(percentEncoded)];
        }),
    );
  const draft = fc
    .record({
      segments: fc.record(values("path")),
      query: fc.record(values("query"), {
        requiredKeys: operation.parameters.filter((one) => one.in === "query" && one.required).map(({ name }) => name),
      }),
      key: fc.constantFrom(...(isIntake ? keys.intake : keys.query)),
      from: fc.constantFrom(...callers),
      payload: plain,
    })
    .map(
      ({ segments, query, key, from, payload }): Draft => ({
        operation,
        method: operation.method,
        segments,
        query: Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
        rewritePath: (path) => path,
        headers: key === undefined ? {} : { key },
        payload,
        from,
        // The description leaves the content of sensors' records open, and so whether they are accepted.
        expects: hasOwnFormat(operation, query) ? "anything" : "accepted",
      }),
    );
  const twist = twistsOf(operation, methodsOfPath);
  const other = operation.body === undefined ? typed : fc.oneof(odd.map(sending), twist);
  return (
    fc
      .tuple(
        draft,
        fc.oneof(
          { weight: 2, arbitrary: fc.constant([]) },
          { weight: operation.body === undefined ? 6 : 1, arbitrary: fc.array(twist, { minLength: 1, maxLength: 3 }) },
          { weight: operation.body === undefined ? 1 : 6, arbitrary: fc.array(other, { minLength: 1, maxLength: 2 }) },
        ),
      )
      .map(([plainDraft, twists]) =>
        toRequest(twists.reduce((changed: Draft, change: Twist) => change(changed), plainDraft)),
      )
      // Larger than servers accept as a header, which has a test of its own.
      .filter(({ target }) => target.length < 14_000)
  );
}

/** Whether a request brings the records of a sensor as it logs them. */
export function hasOwnFormat(
  operation: DescribedOperation,
  query: Readonly<Record<string, string | undefined>> = {},
): boolean {
  if (operation.id === "postObservations") return query.format !== undefined && query.format !== "observations";
  if (operation.id === "postObservationLines") return true;
  return operation.body !== undefined && (operation.path === "/" || isUntold(operation));
}

/** Whether its answer does not count the records that were rejected. */
export const isUntold = ({ path }: Pick<DescribedOperation, "path">): boolean =>
  path.startsWith("/services/") || /\/(?:_bulk|_doc|v1\/logs|push)$/.test(path);

function bodiesOf(operation: DescribedOperation, described: Described) {
  if (operation.body === undefined) {
    const none = fc.constant<Payload | undefined>(undefined);
    return { plain: none, odd: none };
  }
  if (operation.id === "postObservationLines") return sensorBodies("lines");
  if (operation.path.endsWith("/_doc")) return sensorBodies("document");
  if (operation.path.endsWith("/_bulk")) return sensorBodies("pairs");
  if (operation.path === "/v1/logs") return sensorBodies("logRecords");
  if (operation.path.endsWith("/push")) return sensorBodies("streams");
  if (hasOwnFormat(operation)) return sensorBodies(operation.path === "/" ? "array" : "events");
  if (operation.bodyType === "multipart/form-data") return formBodies;
  const { anyOf } = described.resolve(operation.body);
  if (anyOf?.[0] !== undefined) return intakeBodies(anyOf[0], described);
  return listBodies(described.of(operation.body));
}

const sending =
  (payload: Payload | undefined): Twist =>
  (draft) => ({ ...draft, payload });

/** Some clients declare the type of a body that they do not send. */
const typed = fc.constantFrom(...CONTENT_TYPES).map(
  (type): Twist =>
    (draft) =>
      expecting({ ...draft, headers: { ...draft.headers, "content-type": type } }, "accepted"),
);
