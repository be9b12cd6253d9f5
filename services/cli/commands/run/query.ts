import type { DefineCommand } from "../../framework/define-command.ts";
import { runServices } from "../../process/run-services.ts";

export const define: DefineCommand = (query, createContext) => {
  query.action(async () => runServices({ ingest: false, query: true }, await createContext()));
};
