import { readBytesPerObservation } from "../bytes-per-observation.ts";
import { against } from "../line.ts";
import type { Part } from "../part.ts";

export const storage: Part = {
  name: "storage",
  what: "bytes on disk an observation, in each table",
  usesWorld: true,
  async measure(run) {
    const { client } = await run.world();
    const { byTable, sum } = await readBytesPerObservation(client);
    const line = (name: string, peer: string, ours: number, theirs: number) =>
      against({ name, peer, unit: "bytes" }, [ours], [theirs]);
    return {
      lines: [
        line("all tables", "observations alone", sum, byTable.get("observations") ?? Number.NaN),
        ...[...byTable].map(([table, bytes]) => line(table, "all tables", bytes, sum)),
      ],
      notes: ["Merged, but for the newest partition of each table."],
    };
  },
};
