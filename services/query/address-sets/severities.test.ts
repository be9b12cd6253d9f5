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
