import { expect, test } from "vitest";
import type { Intention } from "../../api/operations.ts";
import { filterTags } from "./filter-tags.ts";

const tag = (slug: string, intention: Intention, category: string, cves: string[] = []) => ({
  slug,
  name: slug.toUpperCase(),
  intention,
  category,
  cves,
});
const tags = [
  tag("ssh-scanner", "unknown", "activity"),
  tag("log4shell", "malicious", "exploit", ["CVE-2021-44228"]),
  tag("mirai", "malicious", "worm"),
];
const none = { name: "", category: "", intention: "", cve: "" };
const slugs = (filter: Partial<typeof none>) => filterTags(tags, { ...none, ...filter }).map(({ slug }) => slug);

test("filters of tags combine, whatever their case", () => {
  expect(slugs({})).toHaveLength(3);
  expect(slugs({ name: " Ssh" })).toEqual(["ssh-scanner"]);
  expect(slugs({ intention: "malicious" })).toEqual(["log4shell", "mirai"]);
  expect(slugs({ intention: "malicious", category: "worm" })).toEqual(["mirai"]);
  expect(slugs({ cve: "cve-2021" })).toEqual(["log4shell"]);
  expect(slugs({ name: "mirai", cve: "CVE-2021-44228" })).toEqual([]);
});
