import type { FastifyInstance } from "fastify";
import { afterEach, expect } from "vitest";

const faults: string[] = [];

/** The fault in the header fields that every answer must have; undefined without a fault. */
export function headerFault(fields: Readonly<Record<string, unknown>>): string | undefined {
  const varies = String(fields.vary)
    .split(",")
    .map((name) => name.trim().toLowerCase());
  if (fields["cache-control"] !== "no-store") return `Cache-Control: ${fields["cache-control"]}`;
  return varies.includes("key") ? undefined : `Vary: ${fields.vary}`;
}

/** Checks the header fields of every answer of an application. */
export function checkAnswerHeaders(app: FastifyInstance): void {
  app.addHook("onResponse", async (request, reply) => {
    const fault = headerFault(reply.getHeaders());
    if (fault !== undefined) faults.push(`${request.method} ${request.url}: ${reply.statusCode} with ${fault}`);
  });
}

/** Call it once in each test file. */
export function failOnHeaderFaults(): void {
  afterEach(() => expect(faults.splice(0)).toEqual([]));
}
