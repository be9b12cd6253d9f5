import { expect, test } from "vitest";
import { assertPatchable, install } from "./install.ts";

test("the installed kafkajs can be patched, and a second call does nothing", () => {
  install();
  install();
});

test.each(["2.2.3", "2.3.0", "3.0.0"])("kafkajs %s is an error that says what to do", (version) => {
  expect(() => assertPatchable(version)).toThrow(
    `kafkajs ${version} is installed, but libs/kafka/kafkajs-patches is written for 2.2.4: install 2.2.4`,
  );
});
