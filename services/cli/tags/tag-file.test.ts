import { describe, expect, test } from "vitest";
import { stringify as toYaml } from "yaml";
import { readTagFile } from "./tag-file.ts";

const TODAY = "2026-11-20";
const ID = "5f0f2e6a-9c1b-4b7a-8d53-1c2d3e4f5a6b";
const FULL = {
  id: ID,
  label: "MIRAI_VARIANT",
  slug: "mirai",
  name: "Mirai",
  category: "worm",
  intention: "malicious",
  description: "A worm.",
  references: ["https://example.org/mirai"],
  recommend_block: true,
  cves: ["CVE-2020-1234"],
  created_at: "2020-04-07",
};

function read(value: unknown) {
  return readTagFile(JSON.stringify(value), TODAY);
}

/** Why the entry {slug, name} with these members is rejected; undefined when it is not. */
function reasonFor(members: Record<string, unknown>): string | undefined {
  return read([{ slug: "mirai", name: "Mirai", ...members }]).rejected[0]?.reason;
}

describe("a file of tags", () => {
  test("is a list, or has it under tags or metadata, in YAML as in JSON", () => {
    const expected = { tags: [{ ...FULL, related: [] }], rejected: [] };
    for (const shape of [[FULL], { tags: [FULL] }, { metadata: [FULL] }]) {
      expect(readTagFile(JSON.stringify(shape), TODAY)).toEqual(expected);
      expect(readTagFile(`\n ${JSON.stringify(shape, undefined, 2)}\n`, TODAY)).toEqual(expected);
      expect(readTagFile(toYaml(shape), TODAY)).toEqual(expected);
    }
  });

  test("may be empty of tags", () => {
    expect(read([])).toEqual({ tags: [], rejected: [] });
  });

  test.each(["", "just text", "42", "{}", '{"tags": {}}', '{"tags": [', "labels: []", "tags: none"])(
    "is not %j",
    (text) => {
      expect(() => readTagFile(text, TODAY)).toThrow();
    },
  );

  test("needs of a tag only its slug and name, the rest is filled in", () => {
    expect(readTagFile("- slug: redis-scanner\n  name: Redis Scanner\n", TODAY).tags).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        label: "REDIS_SCANNER",
        slug: "redis-scanner",
        name: "Redis Scanner",
        category: "activity",
        intention: "unknown",
        description: "",
        references: [],
        recommend_block: false,
        cves: [],
        created_at: TODAY,
        related: [],
      },
    ]);
  });

  test("in YAML keeps a date as it is written", () => {
    expect(readTagFile("- {slug: a, name: A, created_at: 2020-04-07}", TODAY).tags[0]?.created_at).toBe("2020-04-07");
  });

  test("may have unknown members", () => {
    expect(read([{ ...FULL, colour: "red" }])).toEqual(read([FULL]));
  });
});

describe("ids", () => {
  test("made of a slug are the same on every machine and in every release", () => {
    const idOf = (slug: string) => read([{ slug, name: "x" }]).tags[0]?.id;
    expect(idOf("mirai")).toBe("7071daa5-aa62-572d-88a5-ee39f236093b");
    expect(idOf("mirai")).toBe(idOf("mirai"));
    expect(idOf("mirai-2")).not.toBe(idOf("mirai"));
  });

  test("and CVE ids are compared without regard to case, so they are kept in one", () => {
    const [tag] = read([{ ...FULL, id: ID.toUpperCase(), cves: ["cve-2020-1234"] }]).tags;
    expect(tag).toMatchObject({ id: ID, cves: ["CVE-2020-1234"] });
  });

  test("of related tags can be written as slugs, as ids, or as the objects of a tag list", () => {
    const zmap = read([{ slug: "zmap", name: "ZMap" }]).tags[0]?.id;
    const [tag] = read([
      { ...FULL, related: ["zmap", ID.toUpperCase()], related_tags: [{ id: ID.toUpperCase() }] },
    ]).tags;
    expect(tag?.related).toEqual([zmap, ID, ID]);
  });
});

describe("an invalid entry", () => {
  test("is rejected by its slug, or its position without one, and the others are accepted", () => {
    const { tags, rejected } = read([FULL, { slug: "bad", name: 1 }, { name: "no slug" }, "text", null]);
    expect(tags.map(({ slug }) => slug)).toEqual(["mirai"]);
    expect(rejected.map(({ entry }) => entry)).toEqual(["bad", "entry 3", "entry 4", "entry 5"]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["slug", { slug: "Mirai" }],
    ["slug", { slug: "mirai scanner" }],
    ["slug", { slug: "-mirai" }],
    ["slug", { slug: "a--b" }],
    ["slug", { slug: "" }],
    ["slug", { slug: "x".repeat(129) }],
    ["name", { name: "" }],
    ["name", { name: undefined }],
    ["id", { id: "not-a-uuid" }],
    ["intention", { intention: "evil" }],
    ["cves.0", { cves: ["2020-1234"] }],
    ["created_at", { created_at: "07.04.2020" }],
    ["created_at", { created_at: "2020-02-30" }],
    ["recommend_block", { recommend_block: "yes" }],
    ["references", { references: "https://example.org" }],
  ])("has its member %s named in the reason (%j)", (member, members) => {
    expect(reasonFor({})).toBeUndefined();
    expect(reasonFor(members)).toContain(`${member}: `);
  });

  test("is also the second one with the same slug: a slug means one tag", () => {
    const { tags, rejected } = read([FULL, { slug: "zmap", name: "ZMap" }, { slug: "mirai", name: "Another" }]);
    expect(tags.map(({ name }) => name)).toEqual(["Mirai", "ZMap"]);
    expect(rejected).toEqual([{ entry: "mirai", reason: `an entry above has the slug, with the id ${ID}` }]);
  });
});
