import { z } from "zod";
import { type Schema, schemaSchema } from "./described-values.ts";

const parameterSchema = z.object({
  in: z.enum(["path", "query"]),
  name: z.string(),
  required: z.boolean().default(false),
  schema: schemaSchema,
});
export type DescribedParameter = z.infer<typeof parameterSchema>;

const operationSchema = z.object({
  operationId: z.string(),
  parameters: z.array(parameterSchema).default([]),
  requestBody: z.object({ content: z.record(z.string(), z.object({ schema: schemaSchema })) }).optional(),
  responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.unknown()).default({}) })),
});

/** The parts of a description that are needed to call its operations. */
export const descriptionSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.object({ schemas: z.record(z.string(), schemaSchema) }),
});

/** One operation as described. */
export type DescribedOperation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly DescribedParameter[];
  readonly body: Schema | undefined;
  /** The media type of the body. */
  readonly bodyType: string | undefined;
  readonly statuses: readonly number[];
  /** Of its responses, by status. */
  readonly mediaTypes: Readonly<Record<string, readonly string[]>>;
};

export function operationsOf({ paths }: z.infer<typeof descriptionSchema>): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters,
      body: Object.values(operation.requestBody?.content ?? {})[0]?.schema,
      bodyType: Object.keys(operation.requestBody?.content ?? {})[0],
      statuses: Object.keys(operation.responses).map(Number),
      mediaTypes: Object.fromEntries(
        Object.entries(operation.responses).map(([status, { content }]) => [status, Object.keys(content)]),
      ),
    })),
  );
}

/**
 * The expected result of a request: no error about its form if it is as described, a 4xx if it is not. `anything`
 * is for one that can be read in several ways: its answer must only be as described.
 */
export type Expectation = "accepted" | "rejected" | "anything";

/** The body of a request. */
export type Payload = {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly expects: Expectation;
  /** The bytes of each record in it, if they are known for certain. */
  readonly records?: readonly Buffer[];
};

/** A request before it is serialised, to which twists are applied. */
export type Draft = {
  readonly operation: DescribedOperation;
  readonly method: string;
  /** By the names of the path's parameters, as they stand in the path. */
  readonly segments: Readonly<Record<string, string>>;
  /** Names and values as they stand in the query string. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** Applied to the whole path in the end. */
  readonly rewritePath: (path: string) => string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Payload | undefined;
  readonly from: string;
  readonly expects: Expectation;
};

/** A request as it is sent. */
export type FuzzRequest = {
  readonly operation: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Buffer | undefined;
  readonly records: readonly Buffer[] | undefined;
  /** The caller's network address. */
  readonly from: string;
  readonly expects: Expectation;
};

/** Changes a draft. */
export type Twist = (draft: Draft) => Draft;

/** A draft with another expectation: `anything` prevails over `rejected`, and that over `accepted`. */
export function expecting(draft: Draft, expects: Expectation): Draft {
  const all = [draft.expects, expects];
  return {
    ...draft,
    expects: all.find((one) => one === "anything") ?? all.find((one) => one === "rejected") ?? "accepted",
  };
}

export function toRequest(draft: Draft): FuzzRequest {
  const path = draft.rewritePath(
    draft.operation.path.replace(/\{(\w+)\}/g, (_all, name: string) => draft.segments[name] ?? ""),
  );
  const query = draft.query.map(([name, value]) => `${name}=${value}`).join("&");
  const { expects } = expecting(draft, draft.payload?.expects ?? "accepted");
  return {
    operation: draft.operation.id,
    method: draft.method,
    target: query === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`,
    headers: { ...draft.payload?.headers, ...draft.headers },
    payload: draft.payload?.bytes,
    records: draft.payload?.records,
    from: draft.from,
    expects,
  };
}

/** Half of a surrogate pair, encoded as if UTF-8 allowed it. */
const HALF_A_PAIR = "%ED%A0%80";

export function percentEncoded(text: string): string {
  return [...text]
    .map((character) => (character.isWellFormed() ? encodeURIComponent(character) : HALF_A_PAIR))
    .join("");
}
