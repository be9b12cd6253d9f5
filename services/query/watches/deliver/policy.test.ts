import { networkInterfaces } from "node:os";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkDestination } from "./check-destination.ts";
import { destinationPolicy } from "./policy.ts";
import { newSecret } from "./secrets.ts";

const head = { id: "a", isOff: false, addedAt: 0 };
const rules = (exceptions: readonly string[] = [], sendsMail = true) => ({
  policy: destinationPolicy(exceptions),
  sendsMail,
});
const webhook = (url: string): Destination => ({
  ...head,
  ...{ type: "webhook", url, format: "standard", secret: newSecret() },
});
const syslog = (host: string, port = 514): Destination => ({ ...head, type: "syslog", host, port, transport: "tcp" });

test.each([
  "http://127.0.0.1/",
  "http://127.8.9.1:8080/hook",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://0/",
  "http://127。0。0。1/",
  "http://localhost/",
  "https://LocalHost.:8443/",
  "http://intake.localhost/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::127.0.0.1]/",
  "http://[::ffff:0:127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[64:ff9b::a9fe:a9fe]/",
  "http://[64:ff9b:1::169.254.169.254]/",
  "http://[64:ff9b:1:7f00:0:100::]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:0:7f00:1::]/",
  "http://[2001:0:808:808:0:0:80ff:fffe]/",
  "http://[fe80::5efe:127.0.0.1]/",
  "http://[2001:db8::5efe:7f00:1]/",
  "http://169.254.169.254/latest/meta-data/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://100.100.100.200/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://[ff02::1]/",
])("a watch that delivers to %s is rejected", (url) => {
  expect(checkDestination(webhook(url), rules())).toMatch(/^url leads to \S+, which is .+WATCH_DESTINATIONS/);
});

test("all addresses of this machine are rejected, in each form", () => {
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? []);
  const { whyRefused } = destinationPolicy([]);
  expect(addresses.length).toBeGreaterThan(0);
  for (const address of addresses) {
    expect([address, whyRefused(address)]).toEqual([address, expect.stringMatching(/machine|link-local/)]);
    if (!address.includes(":")) expect(whyRefused(`::ffff:${address}`)).toBe(whyRefused(address));
  }
});

test.each([
  "https://soar.example.org/hook",
  "http://10.1.2.3:8065/hooks/a",
  "http://172.16.0.9/",
  "http://192.168.1.1/",
  "http://[fd12:3456::1]/",
  "http://[::ffff:10.0.0.1]/",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]/",
  "https://localhost.example.org/",
])("a watch may deliver to %s", (url) => {
  expect(checkDestination(webhook(url), rules())).toBeUndefined();
});

test("WATCH_DESTINATIONS makes exceptions of addresses and networks, in each of their forms, and of no other", () => {
  const some = rules(["127.0.0.1", "169.254.7.0/24", "fe80::/64"]);
  for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "169.254.7.9", "[fe80::1]", "[64:ff9b::7f00:1]"])
    expect([host, checkDestination(webhook(`http://${host}/`), some)]).toEqual([host, undefined]);
  for (const host of ["127.0.0.2", "[::1]", "169.254.169.254", "[fe80:0:0:1::1]"])
    expect(checkDestination(webhook(`http://${host}/`), some)).toMatch(/WATCH_DESTINATIONS/);
});

test("any loopback address in any IPv6 spelling that leads to it is rejected", () => {
  const { whyRefused } = destinationPolicy([]);
  const hex = (high: number, low: number) => ((high << 8) | low).toString(16);
  const byte = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(byte, byte, byte, fc.constantFrom("::ffff:", "::", "64:ff9b::", "::ffff:0:"), (b, c, d, prefix) => {
      expect(whyRefused(`${prefix}127.${b}.${c}.${d}`)).toBe("is this machine");
      expect(whyRefused(`${prefix}${hex(127, b)}:${hex(c, d)}`)).toBe("is this machine");
      expect(whyRefused(`2002:${hex(127, b)}:${hex(c, d)}::1`)).toBe("is this machine");
    }),
  );
});

test.each<[Destination, RegExp]>([
  [webhook("ftp://files.example.org/"), /http or https/],
  [webhook("soar.example.org"), /http or https/],
  [webhook("https://user:password@soar.example.org/"), /no user and no password/],
  [
    { ...head, type: "webhook", url: "https://a.example", format: "standard", secret: "whsec_c2hvcnQ=" },
    /secret must be/,
  ],
  [
    { ...head, type: "webhook", url: "https://a.example", format: "standard", secret: "s".repeat(40) },
    /secret must be/,
  ],
  [{ ...head, type: "slack", url: "http://127.0.0.1/" }, /this machine/],
  [{ ...head, type: "mattermost", url: "http://[::1]:8065/hooks/a" }, /this machine/],
  [{ ...head, type: "ntfy", url: "https://ntfy.sh", token: "" }, /topic/],
  [{ ...head, type: "ntfy", url: "https://ntfy.sh/a", token: "a\r\nb: c" }, /token/],
  [{ ...head, type: "ntfy", url: "http://0.0.0.0/a", token: "" }, /this machine/],
  [syslog("127.0.0.1"), /host leads to 127.0.0.1, which is this machine/],
  [syslog("::1"), /this machine/],
  [syslog("2130706433"), /this machine/],
  [syslog("fe80::1%eth0"), /link-local/],
  [syslog(""), /must name a host/],
  [syslog("siem.example.org:514"), /must name a host/],
  [syslog("http://siem.example.org/"), /must name a host/],
  [syslog("siem.example.org", 0), /port/],
  [{ ...head, type: "email", to: [] }, /1 to 20/],
  [{ ...head, type: "email", to: ["soc@example.org", "Eve <eve@example.org>"] }, /addresses like/],
  [{ ...head, type: "email", to: ["soc@example.org,eve@example.org"] }, /addresses like/],
  [{ ...head, type: "email", to: ["soc@example.org\r\nBcc: eve@example.org"] }, /addresses like/],
])("what is wrong with a destination is said in a sentence: %j", (destination, sentence) => {
  expect(checkDestination(destination, rules())).toMatch(sentence);
});

test("mail needs a server", () => {
  const email: Destination = { ...head, type: "email", to: ["soc@example.org"] };
  expect(checkDestination(email, rules())).toBeUndefined();
  expect(checkDestination(email, rules([], false))).toMatch(/SMTP_URL and MAIL_FROM/);
});

test("each secret is another one, of 24 random bytes", () => {
  const secrets = Array.from({ length: 100 }, newSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/);
});
