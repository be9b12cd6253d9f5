import type { LogFormat } from "./format.ts";

/** Our own wire schema. Its values are passed on as they are, so that validation sees every member. */
export const observationsFormat: LogFormat = {
  name: "observations",
  description: "Noisefloor's own wire schema, NDJSON",
  json: {
    signs: "observed_at and source_ip",
    recognizes: (record) => "observed_at" in record && "source_ip" in record,
    decode: (record) => ({ observation: record }),
  },
};
