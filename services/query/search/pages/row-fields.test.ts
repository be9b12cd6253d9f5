import { findField } from "@noisefloor/domain/query-language/fields.ts";
import { expect, test } from "vitest";
import { fullContextSchema } from "../../address/schema.ts";
import { seenSchema } from "../../legacy/context-schema.ts";
import { memberNames } from "./exclude.ts";

test.each([
  ["/v3", memberNames(fullContextSchema)],
  ["/v2", memberNames(seenSchema)],
])("every member of a row of %s is the name of a field", (_, names) => {
  const isLeaf = (name: string) => !names.some((other) => other.startsWith(`${name}.`));
  expect(names.length).toBeGreaterThan(30);
  for (const name of names.filter(isLeaf))
    expect([name, findField(name)]).toMatchObject([name, { kind: expect.anything() }]);
});
