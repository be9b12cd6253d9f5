import type { DefineCommand } from "../../framework/define-command.ts";
import { runServices } from "../../process/run-services.ts";

export const define: DefineCommand = (ingest, createContext) => {
  ingest.action(async () => runServices({ ingest: true, query: false }, await createContext()));
};
