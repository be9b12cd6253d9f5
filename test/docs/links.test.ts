import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { listDocuments, ROOT, readSpans, readText, splitDocument } from "./documents.ts";

const isThere = (path: string) =>
  access(join(ROOT, path)).then(
    () => true,
    () => false,
  );

/** The anchors that GitHub derives from headings. */
function anchorsOf(prose: readonly string[]): string[] {
  const headings = prose.filter((line) => line.startsWith("#")).map((line) => line.replace(/^#+ /, ""));
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every link between the documents leads to a file, and to a heading in it", async () => {
  const broken: string[] = [];
  for (const document of await listDocuments()) {
    const { prose } = splitDocument(await readText(document));
    for (const [link, target = "", anchor] of prose.join("\n").matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)) {
      const path = target === "" ? document : join(dirname(document), target);
      const isGood =
        (await isThere(path)) &&
        (anchor === undefined || anchorsOf(splitDocument(await readText(path)).prose).includes(anchor));
      if (!isGood) broken.push(`${document}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test("every file and folder of the repository that a document names is there", async () => {
  const missing: string[] = [];
  for (const document of await listDocuments()) {
    const { code, prose } = splitDocument(await readText(document));
    const names = [...readSpans(prose), ...code.map((line) => line.split(/\s/)[0] ?? "")];
    for (const name of names.filter((one) => /^(?:libs|services|infra|test|docs|\.ci)\/?[\w./-]*$/.test(one))) {
      if (!(await isThere(name))) missing.push(`${document}: ${name}`);
    }
  }
  expect(missing).toEqual([]);
});
