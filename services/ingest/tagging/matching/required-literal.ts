/**
 * The longest text that every match of a regular expression contains, so that it need not run where that text is
 * missing; empty when none is certain. It gives up rather than guess: a wrong text would lose matches.
 */
export function requiredLiteral(source: string, isCased: boolean): string {
  // Escapes that change the meaning of what follows, and flags within groups, are not worth the code.
  if (/\\[QExuUpPCk0-9]/.test(source) || (isCased && /\(\?[a-zA-Z]*i/.test(source))) return "";
  const literals: string[] = [];
  const end = readAlternation(source, 0, isCased, literals);
  if (end !== source.length) return "";
  return literals.reduce((longest, literal) => (literal.length > longest.length ? literal : longest), "");
}

const IMPOSSIBLE = -1;

/**
 * Reads alternatives up to a closing bracket or the end, and adds the texts that all matches contain. Where there are
 * several alternatives, no text is in all of them.
 * @returns where it ends.
 */
function readAlternation(source: string, start: number, isCased: boolean, literals: string[]): number {
  const own: string[] = [];
  let at = readSequence(source, start, isCased, own);
  let alternatives = 1;
  while (at !== IMPOSSIBLE && source[at] === "|") {
    alternatives++;
    at = readSequence(source, at + 1, isCased, []);
  }
  if (alternatives === 1) literals.push(...own);
  return at;
}

function readSequence(source: string, start: number, isCased: boolean, literals: string[]): number {
  let run = "";
  let at = start;
  const endRun = () => {
    literals.push(run);
    run = "";
  };
  while (at < source.length && source[at] !== "|" && source[at] !== ")") {
    const inner: string[] = [];
    const atom = readAtom(source, at, isCased, inner);
    if (atom.end === IMPOSSIBLE) return IMPOSSIBLE;
    const repeat = readRepeat(source, atom.end);
    at = repeat.end;
    if (atom.character !== undefined && repeat.isOnce) run += atom.character;
    else {
      // A character that comes at least once still ends the run before it: "ab+" requires "ab".
      if (atom.character !== undefined && !repeat.isOptional) run += atom.character;
      endRun();
      if (!repeat.isOptional) literals.push(...inner);
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

function readAtom(source: string, at: number, isCased: boolean, literals: string[]): ReadAtom {
  const character = source.charAt(at);
  if (character === "(") {
    const opening = /^\((?:\?(?:P?<\w+>|[a-z]*:))?/.exec(source.slice(at, at + 100))?.[0] ?? "(";
    // What is left is a group of flags alone, like (?s), or one of a kind that is not known here.
    if (source.startsWith("(?", at) && opening === "(") {
      const flags = /^\(\?[a-z]+\)/.exec(source.slice(at, at + 100))?.[0];
      return { end: flags === undefined ? IMPOSSIBLE : at + flags.length };
    }
    const end = readAlternation(source, at + opening.length, isCased, literals);
    return { end: end === IMPOSSIBLE || source[end] !== ")" ? IMPOSSIBLE : end + 1 };
  }
  if (character === "[") return { end: endOfClass(source, at) };
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
