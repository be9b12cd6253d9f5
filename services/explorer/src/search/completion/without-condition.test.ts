import { valueAt } from "@noisefloor/domain/query-language/completion/complete.ts";
import { expect, test } from "vitest";
import { withoutCondition } from "./without-condition.ts";

test.each([
  ["tags:mi|", "found:true"],
  ["port:22 tags:|", "port:22"],
  ["port:22 NOT tags:mi|", "port:22"],
  ["port:22 AND -tags:mi|rai country:DE", "port:22  country:DE"],
  ["tags:| AND port:22", "port:22"],
  ['organization:"Ex|ample Host" port:22', "port:22"],
  ["(port:22 OR port:23) tags:|", "(port:22 OR port:23)"],
  ["port:22 OR tags:|", "found:true"],
  ["tags:(mirai OR |)", "found:true"],
  ["NOT (port:22 tags:|)", "found:true"],
])("values for %s are counted among the addresses of %s", (marked, expected) => {
  const cursor = marked.indexOf("|");
  const text = marked.replace("|", "");
  const value = valueAt(text, cursor);
  expect(value && withoutCondition(text, value)).toBe(expected);
});
