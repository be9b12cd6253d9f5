import { type FieldKind, fieldNamed } from "./fields.ts";
import { quote, type WordsField } from "./query.ts";
import type { ConditionTree, SyntaxTree } from "./syntax-tree.ts";

/** A value of a field with words without quotes behind it, which may be meant together: `tags:SSH Bruteforcer`. */
export type UnquotedName = {
  readonly field: WordsField | "tag";
  /** The value alone, and where it begins. */
  readonly first: string;
  readonly position: number;
  /** The value with one, two and more of these words, and where the last of them ends. */
  readonly longer: readonly { readonly text: string; readonly end: number }[];
};

/** Max words after the first that are taken together. */
const MAX_WORDS = 8;

/** @param of what stands beside each other in an AND. @param group the field before their parentheses. */
export function findUnquotedNames(of: readonly SyntaxTree[], query: string, group?: FieldKind): UnquotedName[] {
  return of.flatMap((tree, index): UnquotedName[] => {
    const value = wordOf(conditionOf(tree));
    const field = nameField(conditionOf(tree)?.field?.name, group);
    if (value === undefined || field === undefined) return [];
    let { text } = value;
    let end = value.position + value.length;
    const longer: { text: string; end: number }[] = [];
    for (const next of of.slice(index + 1, index + 1 + MAX_WORDS)) {
      const [only, second] = next.type === "and" ? next.of : [next];
      const word = only?.type === "condition" && only.field === undefined ? wordOf(only) : undefined;
      if (word === undefined || second !== undefined) break;
      const before = query.slice(end, word.position).trim().toLowerCase();
      const wordEnd = word.position + word.length;
      // A name may have an "and" in it, and end with a word in parentheses.
      const isClosed = next.type === "and" && before === "(" && query[wordEnd] === ")";
      if (!isClosed && (next.type === "and" || (before !== "" && before !== "and"))) break;
      text += isClosed ? ` (${word.text})` : `${before === "" ? "" : " and"} ${word.text}`;
      end = isClosed ? wordEnd + 1 : wordEnd;
      longer.push({ text, end });
    }
    return longer.length === 0 ? [] : [{ field, first: value.text, position: value.position, longer }];
  });
}

function conditionOf(tree: SyntaxTree): ConditionTree | undefined {
  if (tree.type === "not") return conditionOf(tree.of);
  return tree.type === "condition" ? tree : undefined;
}

function wordOf(condition: ConditionTree | undefined) {
  const value = condition?.value;
  return value?.type === "text" && !value.isQuoted ? value : undefined;
}

function nameField(name: string | undefined, group: FieldKind | undefined): UnquotedName["field"] | undefined {
  const kind = name === undefined ? group : fieldNamed(name);
  if (kind?.kind === "words") return kind.field;
  return kind?.kind === "value" && kind.field === "tag" ? "tag" : undefined;
}

/** Which names of a field there are. */
export type KnowsName = {
  /** Whether a text alone is one. */
  readonly isWhole: (field: UnquotedName["field"], text: string) => boolean;
  /** Whether a text is one, or as words a part of one where the field takes words. */
  readonly isMeant: (field: UnquotedName["field"], text: string) => boolean;
};

/** The query with quotes around the words that are a name together, where the first alone is none. */
export function quoteNames(query: string, unquoted: readonly UnquotedName[], { isWhole, isMeant }: KnowsName): string {
  let [quoted, done] = ["", 0];
  for (const { field, first, position, longer } of unquoted) {
    if (position < done || isWhole(field, first)) continue;
    const name = longestName(field, longer, isMeant);
    if (name === undefined) continue;
    quoted += query.slice(done, position) + quote(name.text);
    done = name.end;
  }
  return quoted + query.slice(done);
}

function longestName(
  field: UnquotedName["field"],
  longer: UnquotedName["longer"],
  isMeant: KnowsName["isMeant"],
): UnquotedName["longer"][number] | undefined {
  if (field === "tag") return longer.findLast(({ text }) => isMeant(field, text));
  // Where the first words are in no name, more of them are in none either.
  const end = longer.findIndex(({ text }) => !isMeant(field, text));
  return end < 0 ? longer.at(-1) : longer[end - 1];
}
