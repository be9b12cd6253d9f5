import { randomUUID } from "node:crypto";
import { observationSchema } from "@noisefloor/domain/observation/schema.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FALLBACK_ID_HEADER, messageRecordId, observationIdOf, recordIds, requestRecordId } from "./record-id.ts";

function idsOf(contents: readonly string[]): string[] {
  const nextId = recordIds();
  return contents.map((content) => nextId(content));
}

const contents = fc.array(fc.oneof(fc.constantFrom("a", "b", "c"), fc.string()), { maxLength: 20 });

test("the same file read twice gives the same ids", () => {
  fc.assert(
    fc.property(contents, (records) => {
      expect(idsOf(records)).toEqual(idsOf(records));
    }),
  );
});

test("every record of a file has an id of its own, equal records too", () => {
  fc.assert(
    fc.property(contents, (records) => {
      expect(new Set(idsOf(records)).size).toBe(records.length);
    }),
  );
  expect(new Set(idsOf(["a", "b", "a", "a"])).size).toBe(4);
});

test("the order in which a file lists its records changes none of its ids", () => {
  const shuffled = contents.chain((records) =>
    fc.tuple(
      fc.constant(records),
      fc.shuffledSubarray(records, { minLength: records.length, maxLength: records.length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([records, other]) => {
      expect(idsOf(other).toSorted()).toEqual(idsOf(records).toSorted());
    }),
  );
});

test("a file that grew keeps the ids of what it had before", () => {
  const before = ["a", "b", "a"];
  expect(idsOf([...before, "b", "c"]).slice(0, before.length)).toEqual(idsOf(before));
});

test("an id says that it comes from a file, and is the same in every release", () => {
  // sha256("a") = ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb
  expect(idsOf(["a", "a"])).toEqual([
    "file:ca978112ca1bbdcafac231b39a23dc4d/0",
    "file:ca978112ca1bbdcafac231b39a23dc4d/1",
  ]);
});

test("a message's records have the ids of the request or file that it came from; other ids are ignored", () => {
  const idWith = (given: string) =>
    messageRecordId({ topic: "t", partition: 3, offset: "14", headers: { [FALLBACK_ID_HEADER]: given } }, 5);
  const request = requestRecordId(randomUUID(), 2);
  const file = idsOf(["line"])[0] ?? "";
  expect([request, file].map(idWith)).toEqual([`${request}/5`, `${file}/5`]);
  const place = "kafka:t/3/14/5";
  for (const other of ["", "x", "x".repeat(900_000), `${request}0000000000`, ` ${request}`, `${request},${request}`]) {
    expect(idWith(other)).toBe(place);
  }
  expect(messageRecordId({ topic: "t", partition: 3, offset: "14", headers: {} }, 5)).toBe(place);
});

test("under a key an id is that key's own: no id that a sender may state is stored under the same name", () => {
  const named = (stated: string | undefined, idNamespace?: string) =>
    observationIdOf(stated, { fallbackId: "http:1/0", idNamespace });
  expect(named("one")).toBe("one");
  expect(named("one", "key")).not.toBe(named("one", "other"));
  expect(named(undefined, "key"), "sensors cannot state such an id").toBe("http:1/0");
  const stated = { observed_at: new Date(0).toISOString(), sensor_id: "s", source_ip: "45.0.0.1" };
  const forged = { ...stated, observation_id: named("one", "key") };
  expect(observationSchema.safeParse(forged).success).toBe(false);
});
