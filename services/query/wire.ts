import { INTENTIONS } from "@noisefloor/domain/classification.ts";
import { errorResponse } from "@noisefloor/http/openapi.ts";
import { z } from "zod";

/** The kinds of value that answers are made of, as every operation writes them. */
export const ip = z.string().meta({ format: "ipv4" });
export const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  .meta({ format: "uuid" });
export const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .meta({ format: "date" });
/** RFC 3339, always in UTC and written with Z. */
export const timestamp = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/)
  .meta({ format: "date-time" });
/** What is not known is an empty text and never null: clients call text methods without a check. */
export const none = z.literal("");
export const texts = z.array(z.string());
export const count = z.int().min(0);
export const classification = z.enum(INTENTIONS);

export const BAD_ADDRESS = errorResponse(
  "The address is not a routable IPv4 address, or a parameter cannot be read.",
  "Invalid parameter: ip",
);
export const NOT_ENTITLED = errorResponse(
  "`workspace_labels` asks for more than the caller's workspace is entitled to.",
  "workspace_labels requires the Community Dataset entitlement",
);
