import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { Logger } from "pino";
import type { Tagger } from "./assign-tags.ts";
import { type CompiledTagger, createTagger } from "./compiled/tagger.ts";
import type { RuleProblem } from "./rule.ts";
import { duplicates, type RuleFolder, readRules } from "./rule-files/lint.ts";
import type { ParsedTag } from "./rule-files/parse-tag.ts";
import type { RuleFile } from "./rule-files/read-file.ts";
import { type FileVersion, listRuleFiles } from "./rule-files/read-folder.ts";

export type TaggerOptions = {
  /** Folders of rules. A tag of a later one replaces that of an earlier one with the same slug. */
  readonly folders: readonly RuleFolder[];
  /** How often they are looked at; a change shows after about as long. */
  readonly pollMs?: number;
  /**
   * Called with the tags of each folder before their rules are used, at the start and after each change. When it
   * rejects after a change, the rules before the change stay in use and it is called again.
   */
  readonly onTags?: (tagsByFolder: readonly (readonly ParsedTag[])[]) => Promise<void>;
  readonly log: Logger;
};

export type OpenTagger = Tagger & {
  /** The rules as they are now, also after a change. */
  current(): CompiledTagger;
  /** How many rules are in use. */
  rules(): number;
  stop(): void;
};

/** Files of rules that cannot be used. Its message is for the operator. */
export class TagRulesError extends Error {
  override name = "TagRulesError";
}

const POLL_MS = 2_000;
const MAX_LISTED = 10;

/**
 * Reads rules from folders and keeps them up to date. A file that a change breaks keeps its earlier rules, and its
 * errors are logged.
 * @throws TagRulesError when a folder or a file has an error at the start.
 */
export async function openTagger(options: TaggerOptions): Promise<OpenTagger> {
  const { folders, pollMs = POLL_MS, onTags = async () => {}, log } = options;
  let states = await readAtStart(folders);
  await onTags(tagsOf(states));
  let { tagger, rules } = compile(states);

  const poll = async () => {
    const next = await rereadAll(states, log);
    if (next.every((state, index) => state === states[index])) return;
    if (hasSameTags(next, states)) {
      states = next;
      return;
    }
    await onTags(tagsOf(next));
    ({ tagger, rules } = compile(next));
    states = next;
    log.info({ rules: rules.length }, "tagging rules changed and are in use");
  };
  const polling = repeatEvery(poll, {
    everyMs: pollMs,
    onError: (error) => log.warn({ err: error }, "reading tagging rules failed; the rules stay as they were"),
    onRecovery: () => log.info("tagging rules can be read again"),
  });
  return {
    tagsFor: (observation) => tagger.tagsFor(observation),
    current: () => tagger,
    rules: () => rules.length,
    stop: () => void polling.stop(),
  };
}

/** The rules of folders as they are now. @throws TagRulesError when a folder or a file has an error. */
export async function loadRules(folders: readonly RuleFolder[]) {
  const states = await readAtStart(folders);
  return { ...compile(states), tagsByFolder: tagsOf(states) };
}

/** A file as it was read last. */
type KnownFile = {
  readonly version: string;
  /** Its content when it last had no error. */
  readonly good: RuleFile;
};

/** A folder as it was read last; a change leads to another object. */
type FolderState = { readonly folder: RuleFolder; readonly files: ReadonlyMap<string, KnownFile> };

async function readAtStart(folders: readonly RuleFolder[]): Promise<FolderState[]> {
  const problems: RuleProblem[] = [];
  const states: FolderState[] = [];
  for (const folder of folders) {
    const files = new Map<string, KnownFile>();
    for (const listed of await listAtStart(folder.path)) {
      files.set(listed.file, { version: listed.version, good: await readRules(listed, folder) });
    }
    const read = [...files.values()].map(({ good }) => good);
    problems.push(...read.flatMap((file) => file.problems), ...duplicates(read));
    states.push({ folder, files });
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new TagRulesError(formatErrors(errors));
  return states;
}

async function listAtStart(folder: string) {
  try {
    return await listRuleFiles(folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TagRulesError(`the folder of tagging rules ${folder} cannot be read: ${reason}; look at TAG_RULES_DIR`);
  }
}

function formatErrors(errors: readonly RuleProblem[]): string {
  const listed = errors.slice(0, MAX_LISTED).map(({ file, message }) => `\n  ${file}: ${message}`);
  const more = errors.length > MAX_LISTED ? `\n  and ${errors.length - MAX_LISTED} more` : "";
  return `tagging rules have errors:${listed.join("")}${more}\ncorrect these files or move them away; "noisefloor tags lint" lists every error`;
}

async function rereadAll(states: readonly FolderState[], log: Logger): Promise<FolderState[]> {
  const next: FolderState[] = [];
  for (const state of states) next.push(await reread(state, log));
  return next;
}

/** @returns the same object when no file has changed. */
async function reread(state: FolderState, log: Logger): Promise<FolderState> {
  // They come with a build and change with the next one.
  if (state.folder.prepared !== undefined) return state;
  const listed = await listRuleFiles(state.folder.path);
  const isSame =
    listed.length === state.files.size &&
    listed.every(({ file, version }) => state.files.get(file)?.version === version);
  if (isSame) return state;
  const files = new Map<string, KnownFile>();
  for (const version of listed) {
    const { file } = version;
    const lastRead = state.files.get(file);
    const isKnown = lastRead?.version === version.version;
    files.set(
      file,
      isKnown
        ? lastRead
        : { version: version.version, good: await rereadFile(version, state.folder, lastRead?.good, log) },
    );
  }
  const doubled = duplicates([...files.values()].map(({ good }) => good));
  for (const { file, message } of doubled)
    log.warn({ file, error: message }, "two files have a tag; one of them is used");
  return { ...state, files };
}

async function rereadFile(
  version: FileVersion,
  folder: RuleFolder,
  good: RuleFile | undefined,
  log: Logger,
): Promise<RuleFile> {
  const { file } = version;
  const read = await readRules(version, folder);
  const errors = read.problems.filter(({ severity }) => severity === "error").map(({ message }) => message);
  if (errors.length === 0) return read;
  const outcome = good === undefined ? "it is not used" : "its rules stay as they were before the change";
  log.warn({ file, errors: errors.slice(0, MAX_LISTED) }, `a file of tagging rules has errors; ${outcome}`);
  return good ?? { ...read, tags: [] };
}

/** After a change that was an error, too. */
function hasSameTags(next: readonly FolderState[], before: readonly FolderState[]): boolean {
  const contents = (states: readonly FolderState[]) =>
    states.flatMap(({ files }) => [...files.values()].map(({ good }) => good).filter(({ tags }) => tags.length > 0));
  const contentsBefore = contents(before);
  const contentsNow = contents(next);
  return (
    contentsNow.length === contentsBefore.length &&
    contentsNow.every((content, index) => content === contentsBefore[index])
  );
}

function tagsOf(states: readonly FolderState[]): ParsedTag[][] {
  return states.map(({ files }) => [...files.values()].flatMap(({ good }) => good.tags));
}

function compile(states: readonly FolderState[]) {
  const bySlug = new Map(
    tagsOf(states)
      .flat()
      .map((tag) => [tag.entry.slug, tag]),
  );
  const rules = [...bySlug.values()].flatMap(({ rule }) => rule ?? []);
  return { tagger: createTagger(rules), rules };
}
