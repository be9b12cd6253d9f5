import { probeStore, type StoreFacts } from "@noisefloor/cli/diagnosis/probes/probe-store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { eventually } from "../eventually.ts";

/** What doctor asks a store about its observations, asked again while the machine is too busy to answer in time. */
export function factsOf(settings: Settings): Promise<StoreFacts> {
  return eventually(async () => {
    const { facts } = await probeStore(settings);
    if ("error" in facts || "error" in facts.value.loudestSources || "error" in facts.value.isStale) {
      throw new Error(JSON.stringify(facts));
    }
    return facts.value;
  });
}
