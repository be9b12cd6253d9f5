import { z } from "zod";
import type { Answer } from "./operation.ts";

/** SPEC, Error message object: the body of every error response without a schema of its own. */
export const messageSchema = z.strictObject({ message: z.string() }).meta({ id: "Message" });

/** An error response whose body is only a message. */
export function errorResponse(description: string, message: string): Answer {
  return { description, schema: messageSchema, example: { message } };
}
