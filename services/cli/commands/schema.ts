import { observationJsonSchema } from "@noisefloor/domain/observation.ts";
import type { CommandContext } from "../framework/command.ts";

/** `noisefloor schema`: the JSON Schema of an observation. */
export async function runSchema({ print }: CommandContext): Promise<void> {
  print(JSON.stringify(observationJsonSchema(), null, 2));
}
