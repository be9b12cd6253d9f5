import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { expect, test } from "vitest";
import { MAX_ADDRESSES, readAddresses } from "./request-body.ts";

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
