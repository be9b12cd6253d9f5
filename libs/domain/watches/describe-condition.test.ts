import { expect, test } from "vitest";
import { describeCondition } from "./describe-condition.ts";

test.each([
  [["a"], "an address of a is seen"],
  [["a", "b", "c"], "an address of a, b or c is seen"],
  [["a", "b", "c", "d"], "an address of a, b or 2 other networks is seen"],
])("the watched networks %j are said in words", (networks, words) => {
  expect(describeCondition({ type: "network_seen", networks })).toBe(words);
});

test.each([
  [[], "a sensor sends nothing for 30 minutes"],
  [["tap", "dmz"], "the sensor tap or dmz sends nothing for 30 minutes"],
])("the watched sensors %j are said in words", (sensors, words) => {
  expect(describeCondition({ type: "sensor_silent", sensors, after_minutes: 30 })).toBe(words);
});
