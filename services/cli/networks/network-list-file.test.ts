import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KnownLists, readKnownLists } from "./known-lists.ts";
import { findListFiles, listIdOf, parseNetworkList } from "./network-list-file.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-lists-"));
});
afterAll(() => rm(folder, { recursive: true }));

const NONE: KnownLists = new Map();
const KNOWN: KnownLists = new Map([
  [
    "googlebot",
    {
      organization: "Google",
      category: "crawler",
      trust_level: "1" as const,
      priority: 90,
      description: "A crawler.",
      explanation: "It crawls.",
      reference: "https://example.org/bot",
    },
  ],
]);

async function write(path: string, content: unknown): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const read = async (file: string, known: KnownLists) =>
  parseNetworkList(listIdOf(file), await readFile(file, "utf8"), known);

/** Reads a list with these entries. @returns the networks that it accepted, as text. */
async function readEntries(entries: readonly string[], more: Record<string, unknown> = {}) {
  const file = await write("entries/some-list.json", { name: "Some list", list: entries, ...more });
  const { list, rejected, ipv6 } = await read(file, NONE);
  return { taken: list.networks.map(({ first, length }) => `${numberToIpv4(first)}/${length}`), rejected, ipv6 };
}

describe("a published list of networks", () => {
  test("gets from our table the facts that its file lacks", async () => {
    const file = await write("googlebot/list.json", {
      name: "List of known Googlebot IP ranges",
      description: "Theirs",
      type: "cidr",
      version: 20260101,
      matching_attributes: ["ip-src", "ip-dst"],
      list: ["66.249.64.0/19"],
    });
    const { list } = await read(file, KNOWN);
    expect(list).toEqual({
      listId: "googlebot",
      networks: [{ first: 1_123_631_104, length: 19 }],
      name: "Google",
      category: "crawler",
      description: "A crawler.",
      explanation: "It crawls.",
      reference: "https://example.org/bot",
      trustLevel: "1",
      priority: 90,
    });
  });

  test("is called after its file, or after its folder when the file is just list.json", async () => {
    const content = { name: "x", list: [] };
    const idOf = async (path: string) => (await read(await write(path, content), NONE)).list.listId;
    expect(await idOf("ours/telegram-ips.json")).toBe("telegram-ips");
    expect(await idOf("telegram/list.json")).toBe("telegram");
  });

  test.each(["nobody-knows-it", "constructor", "__proto__", "toString"])(
    "that our table does not have, like %s, keeps its own description and has the lowest trust level",
    async (listId) => {
      const content = { name: "List of known Somebody", description: "Theirs", list: ["8.8.8.0/24"] };
      const { list } = await read(await write(`${listId}/list.json`, content), KNOWN);
      expect(list).toMatchObject({
        listId,
        name: "Somebody",
        description: "Theirs",
        category: "unknown",
        explanation: "",
        reference: "",
        trustLevel: "3",
        priority: 0,
      });
    },
  );

  test.each(["hostname", "substring", "string", "regex"])(
    "must hold networks: one of type %s is rejected",
    async (type) => {
      await expect(readEntries(["example.org"], { type })).rejects.toThrow(`entries of type "${type}", not networks`);
    },
  );

  test.each([
    ["{", /JSON/],
    ["[]", /no warninglist/],
    ['{"name":"x"}', /no warninglist/],
    ['{"name":"x","list":[1]}', /no warninglist/],
    ['{"list":[]}', /no warninglist/],
  ])("is not %s", async (content, reason) => {
    await expect(read(await write("broken.json", content), NONE)).rejects.toThrow(reason);
  });
});

describe("the entries of a list", () => {
  test("are networks and addresses; white space around them does not count", async () => {
    expect(await readEntries(["8.8.8.0/24", " 1.1.1.1 ", "17.0.0.0/8\r"])).toEqual({
      taken: ["8.8.8.0/24", "1.1.1.1/32", "17.0.0.0/8"],
      rejected: [],
      ipv6: 0,
    });
  });

  test("may be addresses alone, as lists of type ip have them", async () => {
    expect((await readEntries(["1.1.1.1", "1.0.0.1"], { type: "ip" })).taken).toEqual(["1.1.1.1/32", "1.0.0.1/32"]);
  });

  test("of IPv6 are counted and left out", async () => {
    expect(await readEntries(["2001:db8::/32", "2606:4700:4700::1111", "::/0", "8.8.8.8"])).toEqual({
      taken: ["8.8.8.8/32"],
      rejected: [],
      ipv6: 3,
    });
  });

  test.each([
    ["8.8.8.8/24", /beyond its \/24 prefix/],
    ["8.8.8.0/33", /not 0 to 32/],
    ["0.0.0.0/0", /wider than \/8/],
    ["16.0.0.0/7", /wider than \/8/],
    ["8.8.8.0-8.8.8.255", /not an IPv4 address/],
    ["example.org", /not an IPv4 address/],
    ["2001:db8::/129", /not an IPv4 address/],
    ["", /not an IPv4 address/],
  ])("are rejected one by one under the list's name: %j", async (entry, reason) => {
    expect(await readEntries(["1.1.1.1", entry, "8.8.8.8"])).toEqual({
      taken: ["1.1.1.1/32", "8.8.8.8/32"],
      rejected: [{ entry: `some-list: ${entry}`, reason: expect.stringMatching(reason) }],
      ipv6: 0,
    });
  });
});

describe("the lists at a path", () => {
  test("are the file itself, or the JSON files of a folder and each list.json right below it", async () => {
    for (const name of [
      "b/list.json",
      "a/list.json",
      "c.json",
      "a/deep/er.json",
      "a/deep/list.json",
      "README.md",
      "a/list.json.bak",
    ])
      await write(`tree/${name}`, "{}");
    const root = join(folder, "tree");
    expect(await findListFiles(join(root, "c.json"))).toEqual([join(root, "c.json")]);
    const found = (await findListFiles(root)).map((file) => relative(root, file));
    expect(found).toEqual([join("a", "list.json"), join("b", "list.json"), "c.json"]);
  });

  test("of a path that does not exist are an error", async () => {
    await expect(findListFiles(join(folder, "missing"))).rejects.toThrow(/ENOENT/);
  });
});

test("a list is known as a benign service or as an actor, never as both", async () => {
  const services = await readKnownLists("service");
  const actors = await readKnownLists("actor");
  expect(services.size).toBeGreaterThan(0);
  expect([...actors.keys()].filter((id) => services.has(id))).toEqual([]);
});
