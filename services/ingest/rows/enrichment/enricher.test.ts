import { expect, test } from "vitest";
import { createEnricher } from "./enricher.ts";

/** They take the same slot of what is remembered. */
const [ONE, OTHER] = ["45.0.0.1", "45.0.197.118"];

function countingEnricher() {
  const asked: string[] = [];
  const numbers: Readonly<Record<string, number>> = { [ONE]: 1, [OTHER]: 2 };
  const enricher = createEnricher(() => [
    {
      name: "numbers",
      builtAt: undefined,
      lookUp(ip) {
        asked.push(ip);
        return { asn: numbers[ip] ?? 0 };
      },
    },
  ]);
  return { ...enricher, asked };
}

test("an address is looked up once, and again when a database has changed", () => {
  const { factsOf, forget, changes, asked } = countingEnricher();
  for (let time = 0; time < 3; time++) expect(factsOf(ONE)).toEqual({ asn: 1 });
  expect(asked).toEqual([ONE]);
  forget();
  expect([factsOf(ONE), changes()]).toEqual([{ asn: 1 }, 1]);
  expect(asked).toEqual([ONE, ONE]);
});

test("of two addresses that take each other's place, each gets its own facts", () => {
  const { factsOf, asked } = countingEnricher();
  for (let time = 0; time < 2; time++) {
    expect(factsOf(ONE)).toEqual({ asn: 1 });
    expect(factsOf(OTHER)).toEqual({ asn: 2 });
  }
  expect(asked).toEqual([ONE, OTHER, ONE, OTHER]);
});
