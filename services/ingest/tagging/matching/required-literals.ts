/** Texts of which every match contains at least one. */
export type RequiredLiterals = readonly string[];

/** A set of more is not worth looking for. */
const MAX_LITERALS = 64;

/**
 * Texts of which every match of a regular expression contains at least one, so that it need not run where all of them
 * are missing; empty when none are certain, as a wrong text would lose matches.
 */
export function requiredLiterals(source: string, isCased: boolean): RequiredLiterals {
  // Escapes that change the meaning of what follows, and flags within groups, are not worth the code.
  const escapes = source.replaceAll("\\\\", "");
  if (/\\[QExuUpPCk0-9]/.test(escapes) || (isCased && /\(\?[a-zA-Z]*i/.test(source))) return [];
  const found: RequiredLiterals[] = [];
  const end = readAlternation(source, 0, isCased, found);
  return end === source.length ? best(found) : [];
}

const IMPOSSIBLE = -1;

/** The set whose shortest text is the longest: the one that the fewest texts hold. */
function best(sets: readonly RequiredLiterals[]): RequiredLiterals {
  const shortest = (literals: RequiredLiterals) => Math.min(...literals.map(({ length }) => length));
  let chosen: RequiredLiterals = [];
  for (const set of sets) {
    if (set.length === 0 || shortest(set) === 0) continue;
    if (chosen.length === 0 || shortest(set) > shortest(chosen)) chosen = set;
  }
  return chosen;
}

/**
 * Reads alternatives up to a closing bracket or the end, and adds the sets of texts of which all matches contain one.
 * With several alternatives it is one that the first requires, or one that the second requires, and so on.
 * @returns where it ends.
 */
function readAlternation(source: string, start: number, isCased: boolean, sets: RequiredLiterals[]): number {
  const alternatives: RequiredLiterals[][] = [];
  let at = start - 1;
  do {
    const own: RequiredLiterals[] = [];
    at = readSequence(source, at + 1, isCased, own);
    alternatives.push(own);
  } while (at !== IMPOSSIBLE && source[at] === "|");
  const [only = []] = alternatives;
  if (alternatives.length === 1) sets.push(...only);
  else {
    const bestSets = alternatives.map(best);
    const union = [...new Set(bestSets.flat())];
    if (bestSets.every((set) => set.length > 0) && union.length <= MAX_LITERALS) sets.push(union);
  }
  return at;
}

function readSequence(source: string, start: number, isCased: boolean, sets: RequiredLiterals[]): number {
  let run = "";
  let at = start;
  const endRun = () => {
    if (run !== "") sets.push([run]);
    run = "";
  };
  while (at < source.length && source[at] !== "|" && source[at] !== ")") {
    const inner: RequiredLiterals[] = [];
    const atom = readAtom(source, at, isCased, inner);
    if (atom.end === IMPOSSIBLE) return IMPOSSIBLE;
    const repeat = readRepeat(source, atom.end);
    at = repeat.end;
    if (atom.character !== undefined && repeat.isOnce) run += atom.character;
    else {
      // A character that comes at least once still ends the run before it: "ab+" requires "ab".
      if (atom.character !== undefined && !repeat.isOptional) run += atom.character;
      endRun();
      if (!repeat.isOptional) sets.push(...inner);
    }
  }
  endRun();
  return at;
}

type ReadAtom = {
  readonly end: number;
  /** When it matches this character only. */
  readonly character?: string | undefined;
};

function readAtom(source: string, at: number, isCased: boolean, sets: RequiredLiterals[]): ReadAtom {
  const character = source.charAt(at);
  if (character === "(") {
    const opening = /^\((?:\?(?:P?<\w+>|[a-z]*:))?/.exec(source.slice(at, at + 100))?.[0] ?? "(";
    // What is left is a group of flags alone, like (?s), or one of a kind that is not known here.
    if (source.startsWith("(?", at) && opening === "(") {
      const flags = /^\(\?[a-z]+\)/.exec(source.slice(at, at + 100))?.[0];
      return { end: flags === undefined ? IMPOSSIBLE : at + flags.length };
    }
    const end = readAlternation(source, at + opening.length, isCased, sets);
    return { end: end === IMPOSSIBLE || source[end] !== ")" ? IMPOSSIBLE : end + 1 };
  }
  if (character === "[") {
    const end = endOfClass(source, at);
    const members = end === IMPOSSIBLE ? "" : source.slice(at + 1, end - 1);
    if (/^[^\\^[\]\u0080-\uffff-]{1,8}$/.test(members)) {
      sets.push([...members].map((member) => (isCased ? member : member.toLowerCase())));
    }
    return { end };
  }
  if (character === "\\") {
    const escaped = source.charAt(at + 1);
    return { end: at + 2, character: /[A-Za-z0-9]/.test(escaped) ? undefined : certain(escaped, isCased) };
  }
  if (character === "." || character === "^" || character === "$") return { end: at + 1 };
  return { end: at + 1, character: certain(character, isCased) };
}

/** Beyond ASCII, several characters may be the same but for their case. */
function certain(character: string, isCased: boolean): string | undefined {
  if (character > "\x7f") return undefined;
  return isCased ? character : character.toLowerCase();
}

/** After "[", a "]" at the first place is an ordinary character; so is one in a name like [:alpha:]. */
function endOfClass(source: string, start: number): number {
  let at = start + 1;
  if (source[at] === "^") at++;
  if (source[at] === "]") at++;
  while (at < source.length && source[at] !== "]") {
    const name = source.startsWith("[:", at) ? source.indexOf(":]", at) : -1;
    if (name !== -1) at = name + 2;
    else at += source[at] === "\\" ? 2 : 1;
  }
  return source[at] === "]" ? at + 1 : IMPOSSIBLE;
}

function readRepeat(source: string, at: number): { end: number; isOnce: boolean; isOptional: boolean } {
  const [repeat = ""] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at, at + 20)) ?? [];
  const isOptional = repeat !== "" && !/^(?:\+|\{0*[1-9])/.test(repeat);
  return { end: at + repeat.length, isOnce: repeat === "", isOptional };
}
