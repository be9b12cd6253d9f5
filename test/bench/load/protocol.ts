import { z } from "zod";

/** A load: each connection asks one of the requests, picked at random, as soon as its last one was answered. */
export const orderSchema = z.object({
  port: z.int(),
  connections: z.int(),
  seconds: z.number(),
  seed: z.int(),
  /** HTTP/1.1 requests as text, from the request line to the empty line. */
  requests: z.array(z.string()),
});
export type Order = z.output<typeof orderSchema>;

export const resultSchema = z.object({
  perSecond: z.number(),
  /** Milliseconds. */
  p50: z.number(),
  p99: z.number(),
  /** How often each status was answered. */
  statuses: z.record(z.string(), z.int()),
});
export type LoadResult = z.output<typeof resultSchema>;

/** What the process answers: a result, or an error. */
export const answerSchema = z.union([resultSchema, z.object({ error: z.string() })]);

/** A GET as the callers send it. */
export function getRequest(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}
