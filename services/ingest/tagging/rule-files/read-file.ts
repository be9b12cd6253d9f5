import { basename } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import type { RuleProblem } from "../rule.ts";
import { type ExampleCheck, type ParsedTag, parseTag } from "./parse-tag.ts";

/** The content of a file: its tags without errors, and all problems. */
export type RuleFile = {
  readonly file: string;
  readonly tags: readonly ParsedTag[];
  readonly problems: readonly RuleProblem[];
};

/** A file of hundreds of tags has 100 KiB. */
export const MAX_FILE_BYTES = 2 * 1024 * 1024;

const listSchema = z.object({ tags: z.array(z.unknown()) });
const slugged = z.object({ slug: z.string() });

/**
 * Reads a file of one tag, or of a list of them ({tags: [...]}).
 * @param file its path, for messages; the name of a file of one tag is the tag's slug.
 */
export function readRuleFile(file: string, text: string, examplesAre: ExampleCheck = "checked"): RuleFile {
  const parsed = parseYaml(text);
  if (Array.isArray(parsed)) {
    return { file, tags: [], problems: parsed.map((message) => ({ file, severity: "error", message })) };
  }
  return checkRuleFile(file, parsed.value, examplesAre);
}

/** Checks what a file holds, once it is parsed. */
export function checkRuleFile(file: string, value: unknown, examplesAre: ExampleCheck): RuleFile {
  const problems: RuleProblem[] = [];
  const list = listSchema.safeParse(value);
  const values = list.success ? list.data.tags : [value];
  const tags = values.flatMap((value, index) => {
    const named = slugged.safeParse(value);
    const slug = named.success ? named.data.slug : `tag ${index + 1}`;
    const prefix = list.success ? `${slug}: ` : "";
    let isGood = true;
    const add = (severity: RuleProblem["severity"]) => (message: string) => {
      if (severity === "error") isGood = false;
      problems.push({ file, severity, message: `${prefix}${message}` });
    };
    const report = { error: add("error"), warning: add("warning") };
    if (!list.success && named.success && slugOf(file) !== slug) {
      report.error(`slug: is "${slug}", so the file's name must be ${slug}.yaml`);
    }
    const tag = parseTag(value, report, examplesAre);
    return tag !== undefined && isGood ? [tag] : [];
  });
  return { file, tags, problems };
}

const slugOf = (file: string) => basename(file).replace(/\.ya?ml$/, "");

/** @returns the value, or the problems of the text. */
function parseYaml(text: string): { readonly value: unknown } | string[] {
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) return [`has more than ${MAX_FILE_BYTES} bytes`];
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, strict: true, uniqueKeys: true });
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => {
    const { line, col } = lineCounter.linePos(pos[0]);
    return `line ${line}, column ${col}: ${message}`;
  });
  if (problems.length > 0) return problems;
  try {
    // Aliases of aliases could make gigabytes out of a few lines.
    const value: unknown = document.toJS({ maxAliasCount: 20 });
    return { value };
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
