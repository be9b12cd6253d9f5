import { expect, test } from "vitest";
import { INCLUDED_HOSTS } from "./included-hosts.ts";
import { knownHostFinder, readHost } from "./known-hosts.ts";

const OWN = [
  { host: "files.example.org", note: "ours", createdAt: 0 },
  { host: "45.0.0.9", note: "a mirror", createdAt: 0 },
];
const find = knownHostFinder(OWN, (address) => (address === "8.8.8.8" ? ("guarded" as const) : undefined));
const nameOf = (host: string) => {
  const known = find(host);
  return known === undefined || known === "guarded" ? known : known.host;
};

test("a well-known host is known by its name and by those below it, and not by what only looks like it", () => {
  expect(nameOf("raw.githubusercontent.com")).toBe("githubusercontent.com");
  expect(nameOf("github.com")).toBe("github.com");
  expect(nameOf("mygithub.com")).toBeUndefined();
  expect(nameOf("github.com.intruder.example")).toBeUndefined();
  expect(nameOf("com")).toBeUndefined();
});

test("a host that gives customers names of their own is known itself, while a customer's name is not", () => {
  expect(nameOf("s3.amazonaws.com")).toBe("s3.amazonaws.com");
  expect(nameOf("intruder.s3.amazonaws.com")).toBeUndefined();
  expect(nameOf("storage.googleapis.com")).toBe("storage.googleapis.com");
  expect(nameOf("intruder.github.io")).toBeUndefined();
});

test("a workspace's own hosts are known with all below them, and addresses also by what guards them", () => {
  expect(nameOf("cdn.files.example.org")).toBe("files.example.org");
  expect(nameOf("45.0.0.9")).toBe("45.0.0.9");
  expect(nameOf("8.8.8.8")).toBe("guarded");
  expect(nameOf("8.8.4.5")).toBeUndefined();
});

test("a name above a well-known host is known, as a list blocks all that is below a name", () => {
  expect(nameOf("amazonaws.com")).toMatch(/\.amazonaws\.com$/);
  expect(nameOf("example.org")).toBe("files.example.org");
  expect(nameOf("other.example.org")).toBeUndefined();
});

test("each host that comes along is a plain name that stands in the list once, with the page that it is known from", () => {
  for (const { host, source, operator } of INCLUDED_HOSTS) {
    expect(readHost(host), host).toBe(host);
    expect(source, host).toMatch(/^https:\/\/\S+\/\S*$/);
    expect(operator).not.toBe("");
  }
  expect(new Set(INCLUDED_HOSTS.map(({ host }) => host)).size).toBe(INCLUDED_HOSTS.length);
});

test.each([
  ["Example.ORG.", "example.org"],
  ["bücher.example", "xn--bcher-kva.example"],
  ["_dmarc.example.org", "_dmarc.example.org"],
  ["45.0.0.9", "45.0.0.9"],
  ["org", undefined],
  ["45.0.0.9/24", undefined],
  ["0x2d.1", undefined],
  ["http://example.org", undefined],
  ["example.org/x", undefined],
  ["user@example.org", undefined],
  ["example.org:80", undefined],
  ["", undefined],
  [`${"a".repeat(64)}.example`, undefined],
])("%j is read as the host %j", (text, host) => {
  expect(readHost(text)).toBe(host);
});
