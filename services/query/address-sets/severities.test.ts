import { ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { tabulate } from "./severities.ts";

const address = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0xffff_ffe0, max: 0xffff_ffff }));
const row = fc.record({ address, severity: fc.integer({ min: 0, max: 4 }), attacked: fc.constantFrom(0, ATTACKED) });

test("an address has the worst severity of its rows, in whatever blocks they are, and others have none", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.array(row)), fc.array(address), async (blocks, others) => {
      const table = await tabulate(
        blocks.map((rows) => ({
          source_ip: Uint32Array.from(rows, (one) => one.address),
          severity: Uint32Array.from(rows, ({ severity, attacked }) => severity | attacked),
        })),
      );
      const rows = blocks.flat();
      const asked = [...rows.map((one) => one.address), ...others];
      const worst = asked.map((wanted) => {
        const own = rows.filter((one) => one.address === wanted);
        return (
          Math.max(0, ...own.map(({ severity }) => severity)) | Math.max(0, ...own.map(({ attacked }) => attacked))
        );
      });
      expect([...table.severitiesOf(Uint32Array.from(asked), 0)]).toEqual(worst);
    }),
  ));

test("a table of many addresses finds each of them", async () => {
  const addresses = Uint32Array.from({ length: 100_000 }, (_, index) => index * 40_000);
  const severity = Uint32Array.from(addresses, (_, index) => index % 4);
  const table = await tabulate([{ source_ip: addresses, severity }]);
  expect(table.severitiesOf(addresses, 0)).toEqual(Uint8Array.from(severity));
  expect(
    table
      .severitiesOf(
        addresses.map((one) => one + 1),
        0,
      )
      .every((one) => one === 0),
  ).toBe(true);
});
