import type { NetworkList } from "@noisefloor/clickhouse/networks/networks.ts";
import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";

/** A list of networks as an import creates it, with default members. */
export function networkList(
  listId: string,
  networks: readonly string[],
  more: Partial<Omit<NetworkList, "networks">> = {},
): NetworkList {
  return {
    listId,
    name: `Operator of ${listId}`,
    category: "cloud",
    description: "",
    explanation: "",
    reference: "",
    trustLevel: "1",
    priority: 0,
    networks: networks.map((text) => {
      const network = parseNetwork(text);
      if (typeof network === "string") throw new Error(network);
      return network;
    }),
    ...more,
  };
}
