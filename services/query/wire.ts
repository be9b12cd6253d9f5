import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { errorResponse } from "@noisefloor/http/operations/error-response.ts";
import { z } from "zod";

/** Schemas of the values in responses, the same for all operations. */
export const ip = z.string().meta({ format: "ipv4" });
export const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ format: "uuid" });
export const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: "date" });
/** RFC 3339 in UTC, with Z. */
export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/)
  .meta({ format: "date-time" });
/** An unknown value is an empty string, never null: clients call string methods without a check. */
export const none = z.literal("");
export const texts = z.array(z.string());
export const count = z.int().min(0);
/** A list of things with their counts. */
export const counts = <Shape extends z.ZodRawShape>(shape: Shape) => z.array(z.strictObject({ ...shape, count }));
export const classification = z.enum(INTENTIONS);

export const BAD_ADDRESS = errorResponse(
  "The address is not a routable IPv4 address, or a parameter is invalid.",
  "Invalid parameter: ip",
);
export const NOT_ENTITLED = errorResponse(
  "`workspace_labels` asks for more than the caller's workspace is entitled to.",
  "workspace_labels requires the Community Dataset entitlement",
);

/** A text of a request body that the store keeps, which cannot keep half a surrogate pair. */
export const storedText = z.string().refine((text) => text.isWellFormed());
