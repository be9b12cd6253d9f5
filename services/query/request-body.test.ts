import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { expect, test } from "vitest";
import { MAX_ADDRESSES, readAddresses } from "./request-body.ts";

test("the strings of a body are read unchanged, whether they are addresses or not", () => {
  expect(readAddresses({ ips: ["8.8.8.8", "", "8.8.8.8"], more: 1 })).toEqual(["8.8.8.8", "", "8.8.8.8"]);
  expect(readAddresses({ ips: Array(MAX_ADDRESSES).fill("8.8.8.8") })).toHaveLength(MAX_ADDRESSES);
});

test.each([
  [undefined],
  [null],
  ["8.8.8.8"],
  [["8.8.8.8"]],
  [{}],
  [{ ips: "8.8.8.8" }],
  [{ ips: { length: 1, 0: "8.8.8.8" } }],
  [{ ips: [] }],
  [{ ips: ["8.8.8.8", 1] }],
  [{ ips: ["8.8.8.8", null] }],
])("the body %j is rejected", (body) => {
  expect(() => readAddresses(body)).toThrow(HttpError);
});

test("too many elements are rejected without reading any, and a bad one without reading the next", () => {
  let reads = 0;
  const counted = (count: number) =>
    new Proxy(Array(count).fill(0), {
      get(target, name, receiver) {
        if (/^\d+$/.test(String(name))) reads++;
        return Reflect.get(target, name, receiver);
      },
    });
  expect(() => readAddresses({ ips: counted(MAX_ADDRESSES + 1) })).toThrow(HttpError);
  expect(reads).toBe(0);
  expect(() => readAddresses({ ips: counted(MAX_ADDRESSES) })).toThrow(HttpError);
  expect(reads).toBe(1);
});
