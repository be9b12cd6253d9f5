import fc from "fast-check";

/** Texts that have broken other services. None contains a text that the search for leaks finds. */
const KNOWN_TROUBLE = [
  "",
  " ",
  "\t",
  "\0",
  "a\0b",
  "\u0001\u001f\u007f",
  "\r\nX-Injected: yes",
  "\ufeff",
  "\ufeff1",
  "\ud800",
  "a\udfffb",
  "\u202e1.1.1.1\u202c",
  "\u200b8.8.8.8",
  "😀",
  "👩‍👩‍👧‍👦",
  "e\u0301\u0301\u0301",
  "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘",
  "ﬀ",
  "İ",
  "ß",
  "' OR '1'='1",
  "1; DROP TABLE observations; --",
  "' UNION ALL VALUES (1) --",
  "\\'); TRUNCATE TABLE tags; --",
  "{x:String}",
  "{ip:IPv4}",
  "\u0024{7*7}",
  "{{7*7}}",
  "<%= 7*7 %>",
  "\u0024{jndi:ldap://127.0.0.1/a}",
  "<script>alert(1)</script>",
  "../../../../etc/passwd",
  "..\\..\\windows",
  "%2e%2e%2f",
  "%",
  "%zz",
  "%00",
  "%2f",
  "%252f",
  "%25zz",
  "%c0%af",
  "%ed%a0%80",
  "%f0%9f%98%80",
  "%u0041",
  "+",
  "&",
  "=",
  "a=b&c=d",
  "#",
  "?",
  ";",
  ",",
  ",,,",
  "null",
  "undefined",
  "NaN",
  "Infinity",
  "true",
  "[object Object]",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "0",
  "-0",
  "-1",
  "+1",
  "01",
  "1e3",
  "1e999",
  "0x10",
  "1.5",
  "1_000",
  "９",
  "٣",
  "2147483648",
  "9007199254740993",
  "99999999999999999999999999",
] as const;

const huge = fc
  .record({ unit: fc.constantFrom("a", "0", "9", "😀", "\0", "%", "%25", "[", ",", "../", "1."), bytes: fc.nat(4_000) })
  .map(({ unit, bytes }) => unit.repeat(1 + Math.floor(bytes / Buffer.byteLength(unit))));

/** Any character of Unicode. The library's own unit of this takes a second to make. */
const anyCharacter = fc
  .oneof(fc.nat(0xffff), fc.nat(0x10ffff))
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/** Hostile texts: odd Unicode, injections, traversals, invalid numbers, and long texts. */
export const wildText: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...KNOWN_TROUBLE) },
  { weight: 3, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 20 }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme-ascii", maxLength: 20 }) },
  { weight: 1, arbitrary: huge },
);

const part = fc.nat(255);
const parts = fc.tuple(part, part, part, part);
const hex = (value: number) => `0x${value.toString(16)}`;

/** Addresses in spellings that other programs accept, and addresses that the Internet does not route. */
export const wildAddress: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("0.0.0.0", "255.255.255.255", "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
  fc.constantFrom("192.168.1.1", "169.254.0.1", "100.64.0.1", "100.127.255.255", "224.0.0.1", "239.1.1.1"),
  fc.constantFrom("240.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.0.0.1"),
  fc.constantFrom("::1", "::", "::ffff:8.8.8.8", "[::1]", "2001:db8::1", "fe80::1%eth0", "localhost", "8.8.8.8.", "1."),
  fc.constantFrom(
    "256.1.1.1",
    "1.2.3",
    "1.2.3.4.5",
    "1..2.3",
    ".1.2.3",
    "1.2.3.4/24",
    "1.2.3.4:80",
    " 1.2.3.4",
    "1.2.3.-4",
  ),
  parts.map((four) => four.map((value) => `0${value.toString(8)}`).join(".")),
  parts.map((four) => four.map(hex).join(".")),
  parts
    .map((four) => four.map((value) => String(value).padStart(3, "0")).join("."))
    .filter((text) => /(^|\.)0/.test(text)),
  parts.map(([a, b, c, d]) => String(((a * 256 + b) * 256 + c) * 256 + d)),
  parts.map(([a, b, c, d]) => hex(((a * 256 + b) * 256 + c) * 256 + d)),
  parts.map(([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`),
  parts.map((four) => `::ffff:${four.join(".")}`),
  parts.map((four) => four.join("．")),
);
