import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The repository's folder, with a slash at the end. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export const readText = (path: string) => readFile(ROOT + path, "utf8");

/** Paths of all documents, from the repository's folder. */
export async function listDocuments(): Promise<string[]> {
  const isDocument = (name: string) => name.endsWith(".md");
  const [root, docs] = await Promise.all([readdir(ROOT), readdir(`${ROOT}docs`)]);
  return [...root.filter(isDocument), ...docs.filter(isDocument).map((name) => `docs/${name}`), "examples/README.md"];
}

/** A document's code blocks, a line each, with continued lines joined, and the rest of it. */
export function splitDocument(text: string): { code: string[]; prose: string[] } {
  const code: string[] = [];
  const prose: string[] = [];
  let isCode = false;
  for (const line of text.replaceAll(/\\\n\s*/g, "").split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    else (isCode ? code : prose).push(line);
  }
  return { code, prose };
}

/** The items of a document's lists, each a line, with the items below it. */
export function readItems(text: string): { readonly item: string; readonly below: readonly string[] }[] {
  const items: { item: string; below: string[] }[] = [];
  for (const line of text.replaceAll(/\n {2,}(?! *- )/g, " ").split("\n")) {
    if (line.startsWith("- ")) items.push({ item: line.slice(2), below: [] });
    else if (line.startsWith("  - ")) items.at(-1)?.below.push(line.slice(4));
  }
  return items;
}

/** What stands between single backticks. */
export function readSpans(prose: readonly string[]): string[] {
  return prose.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span));
}
