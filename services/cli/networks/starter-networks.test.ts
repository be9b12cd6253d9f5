import { isRoutableIpv4, lastAddress, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { readStarterNetworks } from "./starter-networks.ts";

const services = await readStarterNetworks("service");
const actors = await readStarterNetworks("actor");

test("a new store knows dozens of services and scan operators, each under an id of its own", () => {
  expect(services.length).toBeGreaterThan(55);
  expect(actors.length).toBeGreaterThan(10);
  const ids = [...services, ...actors].map(({ listId }) => listId);
  expect(new Set(ids).size).toBe(ids.length);
});

test("each says who runs it, what it is and where that is written", () => {
  for (const { listId, name, description, explanation, reference } of [...services, ...actors]) {
    expect({ listId, isComplete: [name, description, explanation].every((text) => text !== "") }).toEqual({
      listId,
      isComplete: true,
    });
    expect(reference, listId).toMatch(/^(https?:\/\/\S+)?$/);
  }
});

test("what anybody can rent, and what fronts for anybody, has the lowest trust level", () => {
  const shared = services.filter(({ category }) => ["cloud", "cdn", "hosting"].includes(category));
  expect(shared.map(({ listId }) => listId)).toEqual(expect.arrayContaining(["amazon-aws", "cloudflare", "akamai"]));
  for (const { listId, trustLevel } of shared) expect({ listId, trustLevel }).toEqual({ listId, trustLevel: "3" });
  expect(services.find(({ listId }) => listId === "google-public-dns")).toMatchObject({ trustLevel: "1" });
});

test("all networks are routable, and no two lists claim the same one", () => {
  const owners = new Map<string, string>();
  for (const { listId, networks } of [...services, ...actors]) {
    for (const network of networks) {
      const text = `${numberToIpv4(network.first)}/${network.length}`;
      expect({ text, listId, alsoIn: owners.get(text) }).toEqual({ text, listId, alsoIn: undefined });
      owners.set(text, listId);
      expect(network.length, text).toBeGreaterThanOrEqual(8);
      expect(isRoutableIpv4(numberToIpv4(network.first)) && isRoutableIpv4(numberToIpv4(lastAddress(network)))).toBe(
        true,
      );
    }
  }
});
