import { expect, test } from "vitest";
import { type SeenFlow, watchOwnAddresses } from "./own-address.ts";

const SELF = "45.0.0.1";
const flow = (source: string, destination: string): SeenFlow => ({ sensor: "tap", source, destination });
const others = (count: number) => Array.from({ length: count }, (_, index) => `46.0.${index >> 8}.${index & 255}`);

function foundIn(flows: readonly SeenFlow[]) {
  const watch = watchOwnAddresses();
  for (const one of flows) watch.add(one);
  return watch.found().map(({ address, begun }) => ({ address, begun }));
}

test("the address that scanners send to and that sends itself is the sensor's own", () => {
  const flows = others(200).flatMap((ip, index) => [flow(ip, SELF), ...(index % 5 === 0 ? [flow(SELF, ip)] : [])]);
  expect(foundIn(flows)).toEqual([{ address: SELF, begun: 40 }]);
});

test("one loud scanner is nobody's own address, and neither is a sensor that only receives", () => {
  const loud = Array.from({ length: 1_000 }, () => flow("46.9.9.9", SELF));
  expect(foundIn([...loud, ...others(20).map((ip) => flow(ip, SELF))])).toEqual([]);
  // Of a darknet, which has many addresses and answers from none.
  expect(foundIn(others(900).map((ip) => flow("46.9.9.9", ip)))).toEqual([]);
  // What answers is an end of each flow, and so is the only one that it answers.
  expect(foundIn(loud.flatMap((one) => [one, flow(SELF, "46.9.9.9")]))).toEqual([]);
});

test("a complete sample is said once, and takes no more memory", () => {
  const watch = watchOwnAddresses();
  const said = Array.from({ length: 6_000 }, (_, index) => {
    const ip = others(50)[index % 50] ?? "";
    return watch.add(index % 3 === 0 ? flow(SELF, ip) : flow(ip, SELF));
  }).filter((one) => one !== undefined);
  expect(said).toMatchObject([{ sensor: "tap", address: SELF, flows: 2_000 }]);
});
