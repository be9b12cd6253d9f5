import { expect, test } from "vitest";
import { LISTED_FIELDS } from "../fields.ts";
import { readQuery } from "../read-query.ts";
import { complete, type KnownValues, valueAt, writeValue } from "./complete.ts";

const TAGS = [
  { value: "mirai", name: "Mirai" },
  { value: "ssh-bruteforcer", name: "SSH Bruteforcer" },
  { value: "ssh-worm", name: "Worm of SSH" },
];
const known: KnownValues = (field) => {
  if (field === "tag") return TAGS;
  return field === "sensor" ? [{ value: 'cellar "2"', name: "" }] : undefined;
};

/** What stands in the text after each suggestion, where "|" is the cursor. */
function completed(marked: string): string[] {
  const cursor = marked.indexOf("|");
  const text = marked.replace("|", "");
  const { from, to, suggestions } = complete(text, cursor, known);
  return suggestions.map((one) => text.slice(0, from) + one.text + text.slice(to));
}

test.each([
  ["cla|", ["classification:"]],
  ["port:22 prot|", ["port:22 protocol:"]],
  ["NOT -riot:tr|", ["NOT -riot:true"]],
  ["(countr|)", ["(country:)", "(country_code:)"]],
  ["metadata.org|", ["metadata.organization:"]],
  ["agent|", ["useragent:"]],
  ["classification:|", ["malicious", "suspicious", "benign", "unknown"].map((value) => `classification:${value}`)],
  ["protocol:u|", ["protocol:udp"]],
  ["trust_level:|", ["trust_level:1", "trust_level:2", "trust_level:3"]],
  ["tags:ss|", ["tags:ssh-bruteforcer", "tags:ssh-worm"]],
  ["tag:worm|", ["tag:ssh-worm"]],
  ["tags:(mirai OR brute|)", ["tags:(mirai OR ssh-bruteforcer)"]],
  ["tags:mi|x port:22", ["tags:mirai port:22"]],
  ['tags:"SSH B|', ["tags:ssh-bruteforcer"]],
  ['tags:"SSH| Brute" port:22', ["tags:ssh-bruteforcer port:22", "tags:ssh-worm port:22"]],
  ['tags:("SSH B|rute\\" (x" OR mirai) path:"/a b"', ['tags:(ssh-bruteforcer OR mirai) path:"/a b"']],
  ['tags:"SSH B|x path:"/a b"', ['tags:ssh-bruteforcer path:"/a b"']],
  ["sensor:ce|", ['sensor:"cellar \\"2\\""']],
  ["first_seen:tod|", ["first_seen:today"]],
])("%s may become %j", (marked, expected) => {
  expect(completed(marked)).toEqual(expected);
});

test.each([
  "|",
  "port:22 |",
  "port:[1 TO 2|",
  "tags:mirai|",
  "path:/wp|",
  "nofield:x|",
  '"cla|ss x"',
  "cve\\:x|",
  "port:22)|",
])("nothing is suggested for %s", (marked) => {
  expect(completed(marked)).toEqual([]);
});

test("the field at the cursor says which values a caller has to load", () => {
  expect(valueAt("port:22 tags:m x", 14)).toEqual({ field: "tag", from: 13, to: 14 });
  expect(valueAt("country:(DE OR ", 15)).toEqual({ field: "country", from: 15, to: 15 });
  expect(valueAt("port:22 ta", 10)).toBeUndefined();
  expect(valueAt("os:x", 4)).toBeUndefined();
});

test("every suggested field is one of the language, and every written value stands for itself", () => {
  for (const { name, names } of LISTED_FIELDS) {
    for (const one of names) {
      expect([name, one, readQuery(`${one}:*`, 0)]).toMatchObject([name, one, { query: {} }]);
    }
  }
  for (const value of ["mirai", "a b", "-x", "a*b", "(", 'say "no"', "c:\\x", "AS64500", "ä", "x~2", "a^2", ">1"]) {
    expect(readQuery(`tags:${writeValue(value)}`, 0)).toMatchObject({
      query: { type: "equals", field: "tag", text: value.toLowerCase() },
    });
  }
});
