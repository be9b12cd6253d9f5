import { describeOperations } from "@noisefloor/http/operations/openapi.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { ANALYSIS } from "@noisefloor/query/analyze/operations.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { z } from "zod";

/** The time that examples of observations have: long past when they are sent. */
const EXAMPLE_TIME = "2026-11-20T14:03:09.5Z";
/** For required query parameters: the description has no examples that documentation pages would send. */
const REQUIRED: Readonly<Record<string, string>> = { ips: "192.175.48.6,8.8.8.8", query: "tags:mirai" };

/** How an operation is called, out of the description alone. */
export type Call = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly isIntake: boolean;
  /** Of a success. */
  readonly status: number;
  readonly pathParameters: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly bodyType: string;
  /** Whether the body of a success is a text, not JSON. */
  readonly isText: boolean;
};

const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        tags: z.array(z.string()),
        parameters: z
          .array(
            z.object({
              in: z.string(),
              name: z.string(),
              required: z.boolean().optional(),
              example: z.unknown().optional(),
            }),
          )
          .default([]),
        requestBody: z
          .object({ content: z.record(z.string(), z.object({ example: z.unknown().optional() })) })
          .optional(),
        responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.unknown()).default({}) })),
      }),
    ),
  ),
});

export type DescribedInterface = { readonly document: unknown; readonly calls: readonly Call[] };

/**
 * The description of all operations.
 * @param now for observations in examples.
 * @param analysis an analysis that there is, in place of that in examples.
 */
export function describedInterface(now: number, analysis: string): DescribedInterface {
  const text = JSON.stringify(describeOperations([...QUERY_OPERATIONS, ...INGEST_OPERATIONS]));
  const current = text.replaceAll(EXAMPLE_TIME, new Date(now - 60_000).toISOString());
  const document: unknown = JSON.parse(current.replaceAll(ANALYSIS.example, analysis));
  const { paths } = documentSchema.parse(document);
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, parameters, requestBody, responses }]): Call => {
      const named = (place: string) => parameters.filter(({ in: at, required }) => at === place && required);
      const [[mediaType, content] = ["", { example: undefined }]] = Object.entries(requestBody?.content ?? {});
      const status = Object.keys(responses).find((one) => one.startsWith("2")) ?? "";
      const [answerType = ""] = Object.keys(responses[status]?.content ?? {});
      return {
        id: operationId,
        method,
        path,
        isIntake: tags.includes("Intake"),
        status: Number(status),
        pathParameters: Object.fromEntries(named("path").map(({ name, example }) => [name, example])),
        query: Object.fromEntries(named("query").map(({ name }) => [name, REQUIRED[name] ?? ""])),
        body: content.example,
        bodyType: mediaType,
        isText: answerType.startsWith("text/"),
      };
    }),
  );
  return { document, calls };
}
