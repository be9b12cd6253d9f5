import { readFileSync } from "node:fs";
import { z } from "zod";

const packageSchema = z.object({ version: z.string() });

/** The version of this program. The bundle lies as deep below the root as the sources do. */
export function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return packageSchema.parse(JSON.parse(readFileSync(file, "utf8"))).version;
}
