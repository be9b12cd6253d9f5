import { z } from "zod";
import { type Schema, schemaSchema } from "./described-values.ts";

const parameterSchema = z.object({ in: z.enum(["path", "query"]), name: z.string(), schema: schemaSchema });
export type DescribedParameter = z.infer<typeof parameterSchema>;

const operationSchema = z.object({
  operationId: z.string(),
  parameters: z.array(parameterSchema).default([]),
  requestBody: z.object({ content: z.record(z.string(), z.object({ schema: schemaSchema })) }).optional(),
  responses: z.record(z.string(), z.unknown()),
});

/** What is read of a description to ask its operations. */
export const descriptionSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.object({ schemas: z.record(z.string(), schemaSchema) }),
});

/** One operation as its description tells of it. */
export type DescribedOperation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly DescribedParameter[];
  readonly body: Schema | undefined;
  readonly statuses: readonly number[];
};

export function operationsOf({ paths }: z.infer<typeof descriptionSchema>): DescribedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters,
      body: operation.requestBody?.content["application/json"]?.schema,
      statuses: Object.keys(operation.responses).map(Number),
    })),
  );
}

/**
 * What must come of a request: not a word about its form where it is as described; a 4xx where it is not. Nothing is
 * expected of one that can be read in several ways, but that its answer is as described.
 */
export type Expectation = "accepted" | "rejected" | "anything";

/** What is sent with a request. */
export type Payload = {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly expects: Expectation;
  /** The bytes of each record in it, where they are known for certain. */
  readonly records?: readonly Buffer[];
};

/** A request before it is written down: what twists are applied to. */
export type Draft = {
  readonly operation: DescribedOperation;
  readonly method: string;
  /** By the names of the path's parameters, as they stand in the path. */
  readonly segments: Readonly<Record<string, string>>;
  /** Names and values as they stand in the query string. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** What becomes of the whole path in the end. */
  readonly bend: (path: string) => string;
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

/** Makes a draft something else than it was. */
export type Twist = (draft: Draft) => Draft;

/** A draft with another expectation: one of which nothing can be expected stays that way, and so does a refusal. */
export function expecting(draft: Draft, expects: Expectation): Draft {
  const all = [draft.expects, expects];
  return {
    ...draft,
    expects: all.find((one) => one === "anything") ?? all.find((one) => one === "rejected") ?? "accepted",
  };
}

export function written(draft: Draft): FuzzRequest {
  const path = draft.bend(
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

/** Half of a surrogate pair has no percent-encoding in UTF-8; this is what one would look like. */
const HALF_A_PAIR = "%ED%A0%80";

export function percentEncoded(text: string): string {
  return [...text]
    .map((character) => (character.isWellFormed() ? encodeURIComponent(character) : HALF_A_PAIR))
    .join("");
}
