import type { LogFormat } from "./format.ts";

/** Our own wire schema. Its values are passed on as they are, so that validation sees every member. */
export const observationsFormat: LogFormat = {
  name: "observations",
  description: "Noisefloor's own wire schema, NDJSON",
  json: {
    recognizes: (record) => "observed_at" in record && "source_ip" in record,
    decode: (record) => ({ observation: record }),
  },
};
