import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRoutableIpv4, numberToIpv4 } from "../address/ipv4.ts";
import { findAddresses } from "./find-addresses.ts";

const textsOf = (pasted: string) => findAddresses(pasted).map(({ text }) => text);
const address = fc.nat({ max: 0xffffffff }).map(numberToIpv4);
const routable = address.filter(isRoutableIpv4);

/** Each way to write an address that people send each other. */
const SPELLINGS: readonly ((ip: string) => string)[] = [
  (ip) => ip,
  (ip) => ip.replaceAll(".", "[.]"),
  (ip) => ip.replaceAll(".", "(.)"),
  (ip) => ip.replaceAll(".", "{.}"),
  (ip) => ip.replaceAll(".", "<.>"),
  (ip) => ip.replaceAll(".", "[dot]"),
  (ip) => ip.replaceAll(".", "(DOT)"),
  (ip) => ip.replaceAll(".", " [.] "),
  (ip) => ip.replaceAll(".", " . "),
  (ip) => ip.replaceAll(".", " dot "),
  (ip) => ip.replaceAll(".", "\\."),
  (ip) => ip.replaceAll(".", "[."),
  (ip) => ip.replace(".", "[.]"),
  (ip) => ip.replace(/\.(?=\d+$)/, "[.]"),
  (ip) => ip.replaceAll(".", "\u200b."),
  (ip) => ip.replaceAll(".", "%2E"),
  (ip) => `${ip}:22`,
  (ip) => `${ip}[:]22`,
  (ip) => `[${ip}]`,
  (ip) => `"${ip}",`,
  (ip) => `\u201c${ip}\u201d`,
  (ip) => `${ip}.`,
  (ip) => `\u200e${ip}\u00a0`,
  (ip) => `${ip}/32`,
  (ip) => `http://${ip}/a/b?c=d`,
  (ip) => `hxxps://${ip.replaceAll(".", "[.]")}:8443/x`,
  (ip) => `hxxp[:]//${ip}/24`,
  (ip) => `ssh://root@${ip}`,
  (ip) => `https://host.example/?url=http%3A%2F%2F${ip}%3A8080%2Fx`,
  (ip) => `::ffff:${ip}`,
  (ip) => `[::FFFF:${ip}]:443`,
  (ip) =>
    `::ffff:${ip.replace(/(\d+)\.(\d+)(\.?)/g, (_, a, b, dot) => (Number(a) * 256 + Number(b)).toString(16) + (dot && ":"))}`,
  (ip) => `db.example.org/${ip}:9092`,
  (ip) => `{"source": {"ip": "${ip}", "port": 22}}`,
];
const spelling = fc.constantFrom(...SPELLINGS);

describe("an address in a text", () => {
  test("is found however it was written", () => {
    fc.assert(
      fc.property(address, spelling, (ip, spell) => {
        expect([spell(ip), textsOf(spell(ip))]).toEqual([spell(ip), [ip]]);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    [
      "the header of a mail",
      "Received: from mail.example.org (mail.example.org [45.0.0.1]) by mx.example.org (8.14.4/8.14.4) with ESMTP id 1; Sat",
    ],
    ["a log of sshd", "Nov 28 04:00:00 host sshd[1]: Failed password for root from 45.0.0.1 port 22022 ssh2"],
    [
      "a log of a web server",
      '45.0.0.1 - - [28/Nov/2026:04:00:00 +0000] "GET / HTTP/1.1" 200 5 "Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36"',
    ],
    ["a log with dates in figures", "28.11.2026 04:00:00.123, 45.0.0.1, denied, eth0"],
    ["a firewall's log", "IN=eth0 MAC=00:11:22:33:44:55:66:77:88:99:aa:bb:08:00 SRC=45.0.0.1 LEN=60 PROTO=TCP"],
    ["a sentence", "It came from 45.0.0.1. Then it stopped."],
    ["Chinese", "来自45.0.0.1的连接"],
  ])("is the only thing that is found in %s", (_, text) => {
    expect(findAddresses(text)).toEqual([{ text: "45.0.0.1", kind: "address" }]);
  });

  test("is found twice in what tcpdump prints, without the ports", () => {
    expect(textsOf("04:00:00.123456 IP 45.0.0.1.54321 > 45.0.0.2.ssh: Flags [S], seq 1")).toEqual([
      "45.0.0.1",
      "45.0.0.2",
    ]);
  });

  test.each([
    "Chrome/120.0.0.0",
    "openssl-1.1.1.1",
    "v1.2.3.4",
    "1.2.3.4-rc1",
    "4.3.2.1.in-addr.arpa",
    "1.2.3.4.bc.example.com",
    "host1.2.3.4",
    "1_2.3.4.5",
    "12:30:45",
    "aa:bb:cc:dd:ee:ff",
  ])("is not a part of %s", (text) => {
    expect(findAddresses(`The name ${text} is none.`)).toEqual([]);
  });

  test("is never made of two, nor of a part of a longer one", () => {
    const pieces = [
      "45.0.0.1",
      "8[.]8[.]4.4",
      "1",
      "25",
      ".",
      "[.]",
      " ",
      "\n",
      "\u200b",
      "%20",
      "/",
      ":",
      "a",
      "0",
      "1.2",
    ];
    let found = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 6 }), (chosen) => {
        const pasted = chosen.join("");
        const plain = pasted.replaceAll("[.]", ".").replace(/%20|\u200b/g, " ");
        for (const { text, kind } of findAddresses(pasted)) {
          if (kind !== "address" && kind !== "not-routable") continue;
          found++;
          const asWritten = new RegExp(`(?<!\\d|\\d\\.)${text.replaceAll(".", " *\\. *")}(?!\\d|\\.\\d)`);
          expect([pasted, asWritten.test(plain)]).toEqual([pasted, true]);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(found).toBeGreaterThan(200);
  });

  test("two lines that a program has joined give no address", () => {
    fc.assert(
      fc.property(address, address, (one, other) => {
        expect(findAddresses(one + other)).toEqual([{ text: one + other, kind: "malformed" }]);
      }),
    );
  });
});

describe("a list", () => {
  const separator = fc.constantFrom("\n", "\r\n", ", ", ",", "; ", "\t", " | ", "  ", "\n\n");

  test("gives every address once, in its order, whatever is between them", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(routable, spelling), { minLength: 1 }), separator, (list, between) => {
        const pasted = list.map(([ip, spell]) => spell(ip)).join(between === "," ? ", " : between);
        const found = findAddresses(pasted).filter(({ kind }) => kind === "address");
        expect(found.map(({ text }) => text)).toEqual([...new Set(list.map(([ip]) => ip))]);
      }),
    );
  });

  test("says of everything else in it what it is", () => {
    const list = [
      "45.0.0.1",
      "10.0.0.1",
      "45.0.0.1",
      "300.1.1.1",
      "45.0.0.0/24",
      "2001:DB8::1",
      "fe80::/10",
      "045.0.0.1",
    ];
    expect(findAddresses([...list, "45.0.0", "host.example"].join("\n"))).toEqual([
      { text: "45.0.0.1", kind: "address" },
      { text: "10.0.0.1", kind: "not-routable" },
      { text: "300.1.1.1", kind: "malformed" },
      { text: "45.0.0.0/24", kind: "network" },
      { text: "2001:DB8::1", kind: "ipv6" },
      { text: "fe80::/10", kind: "ipv6" },
      { text: "045.0.0.1", kind: "malformed" },
      { text: "45.0.0", kind: "malformed" },
      { text: "host.example", kind: "malformed" },
    ]);
    expect(findAddresses("45.0.0.1, host.example")).toEqual([
      { text: "45.0.0.1", kind: "address" },
      { text: "host.example", kind: "malformed" },
    ]);
  });

  test("is the same list when it is read again", () => {
    const piece = fc.oneof(
      address,
      fc.tuple(address, spelling).map(([ip, spell]) => spell(ip)),
      fc.lorem(),
      fc.ipV6(),
    );
    fc.assert(
      fc.property(fc.array(piece), fc.constantFrom("\n", " ", ","), (pieces, between) => {
        const entries = findAddresses(pieces.join(between));
        expect(findAddresses(entries.map(({ text }) => text).join(","))).toEqual(entries);
      }),
    );
  });
});
