import { observationJsonSchema } from "@noisefloor/domain/observation/schema.ts";
import type { DefineCommand } from "../framework/define-command.ts";

export const define: DefineCommand = (schema, createContext) => {
  schema.action(async () => {
    const { print } = await createContext();
    print(JSON.stringify(observationJsonSchema(), null, 2));
  });
};
