import { z } from "zod";
import { date, ip, timestamp } from "../wire.ts";

/** Operations of earlier versions of the API, for existing clients. API, section 7. */
export const LEGACY = { group: "Earlier version", queryParameters: [] } as const;

export const pingSchema = z
  .strictObject({
    message: z.literal("pong"),
    expiration: date.describe("A date in the future; keys do not expire."),
    offering: z.literal("enterprise"),
    address: z.string().describe("The caller's address."),
    plan: z.string(),
    modules: z.literal(""),
  })
  .meta({ id: "Ping" });

export const EXAMPLE_PING: z.input<typeof pingSchema> = {
  message: "pong",
  expiration: "2027-11-20",
  offering: "enterprise",
  address: "127.0.0.1",
  plan: "unlimited",
  modules: "",
};

/** `ip` is the text of the request, whether it is an address or not. */
export const quickSchema = z
  .strictObject({
    ip: z.string(),
    noise: z.boolean(),
    riot: z.boolean(),
    code: z
      .enum(["0x00", "0x01", "0x02", "0x07", "0x09", "0x10"])
      .describe(
        "`0x00` never seen, `0x01` noise, `0x02` noise that could be forged, `0x07` no valid address, `0x09` riot, `0x10` both.",
      ),
  })
  .meta({ id: "LegacyQuick" });

export const EXAMPLE_QUICK: z.input<typeof quickSchema> = {
  ip: "192.175.48.6",
  noise: true,
  riot: false,
  code: "0x01",
};

export const riotSchema = z
  .union([
    z.strictObject({ ip, riot: z.literal(false) }).meta({ id: "LegacyRiotMiss" }),
    z
      .strictObject({
        ip,
        riot: z.literal(true),
        category: z.string(),
        name: z.string(),
        description: z.string(),
        explanation: z.string(),
        last_updated: timestamp,
        reference: z.string(),
        trust_level: z.string(),
      })
      .meta({ id: "LegacyRiotHit" }),
  ])
  .meta({ id: "LegacyRiot" });

export const EXAMPLE_RIOT: z.input<typeof riotSchema> = {
  ip: "8.8.8.8",
  riot: true,
  category: "public_dns",
  name: "Google Public DNS",
  description: "Public resolvers.",
  explanation: "",
  last_updated: "2026-11-20T00:00:00Z",
  reference: "",
  trust_level: "1",
};
