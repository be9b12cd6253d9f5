/** A word of a shell command, with what is known of variables filled in. */
export type Word = {
  readonly text: string;
  /** Whether it was in quotes, and so may hold blanks. */
  readonly isQuoted: boolean;
};

export type ShellCommand = {
  readonly words: readonly Word[];
  /** What its redirections name, and the texts of here-strings. */
  readonly redirects: readonly string[];
  /** Whether it reads what the command before it writes. */
  readonly isPiped: boolean;
};

export type ShellText = {
  readonly commands: readonly ShellCommand[];
  /** What stands in `$(..)` and backticks: commands, too. */
  readonly substitutions: readonly string[];
  /** Where the text ended: before its end where it is embedded in something else. */
  readonly end: number;
};

export type ShellOptions = {
  /** Where to begin. */
  readonly start?: number;
  /** Whether other text may follow, from a quote in the middle of a word or a tag on. */
  readonly isEmbedded?: boolean;
  /** What variables hold; assignments are added. */
  readonly variables: Map<string, string>;
};

const MAX_VARIABLES = 64;
const MAX_VALUE_LENGTH = 512;
const PLAIN = /[\w./:@%+,=~*?[\]-]+/y;
const NAME_CHARACTER = /\w/;

/**
 * Reads the words of shell commands: quotes, escapes, variables, `$IFS`, lists in braces, comments and redirections, as
 * sh, bash and busybox do. In one pass; text that is no shell's gives words of no meaning.
 */
export function readShell(text: string, { start = 0, isEmbedded = false, variables }: ShellOptions): ShellText {
  const commands: ShellCommand[] = [];
  const substitutions: string[] = [];
  let words: Word[] = [];
  let redirects: string[] = [];
  let isPiped = false;
  let word: string | undefined;
  let isQuoted = false;
  let isRedirect = false;
  let index = start;

  const endWord = () => {
    if (word === undefined) return;
    if (isRedirect) redirects.push(word);
    else if (!isQuoted && /^\{[^{}]*,[^{}]*\}$/.test(word)) {
      for (const part of word.slice(1, -1).split(",")) words.push({ text: part, isQuoted: false });
    } else words.push({ text: word, isQuoted });
    word = undefined;
    isQuoted = isRedirect = false;
  };
  const endCommand = (pipes: boolean) => {
    endWord();
    isRedirect = false;
    if (words.length > 0 || redirects.length > 0) {
      assign(words, variables);
      commands.push({ words, redirects, isPiped });
    }
    isPiped = pipes;
    words = [];
    redirects = [];
  };
  /** A value that is not in quotes is split at its blanks. */
  const addValue = (value: string) => {
    const [first = "", ...parts] = value.split(/\s+/);
    word = (word ?? "") + first;
    for (const part of parts) {
      endWord();
      word = part;
    }
  };
  /** Reads what follows a `$`. */
  const readDollar = (isInQuotes: boolean) => {
    const next = text[index + 1] ?? "";
    if (next === "(") {
      const end = closingParenthesis(text, index + 2);
      substitutions.push(text.slice(index + 2, end));
      word = word ?? "";
      index = end + 1;
      return;
    }
    if (next === "'" && !isInQuotes) {
      const end = endOf(text, "'", index + 2);
      word =
        (word ?? "") +
        text
          .slice(index + 2, end)
          .replace(/\\x([\da-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
      isQuoted = true;
      index = end + 1;
      return;
    }
    const { name, fallback, end } = readName(text, index + 1);
    index = end;
    if (name === "IFS" && !isInQuotes) {
      endWord();
      return;
    }
    const value = variables.get(name) ?? fallback ?? (/^\w*$/.test(name) && !/^\d*$/.test(name) ? `$${name}` : "");
    if (isInQuotes) word = (word ?? "") + value;
    else addValue(value);
  };

  loop: while (index < text.length) {
    const character = text[index] ?? "";
    switch (character) {
      case " ":
      case "\t":
      case "\r":
        endWord();
        index++;
        break;
      case "\n":
      case ";":
      case "(":
      case ")":
      case "&":
        endCommand(false);
        index++;
        break;
      case "|":
        endCommand(text[index + 1] !== "|");
        index += text[index + 1] === "|" || text[index + 1] === "&" ? 2 : 1;
        break;
      case "<":
      case ">":
        if (isEmbedded && character === "<" && /[/a-z!?]/i.test(text[index + 1] ?? "")) break loop;
        if (word !== undefined && /^\d+$/.test(word)) word = undefined;
        endWord();
        while (/[<>&|]/.test(text[index] ?? "")) index++;
        isRedirect = true;
        break;
      case "'": {
        if (isEmbedded && word !== undefined) break loop;
        const end = endOf(text, "'", index + 1);
        word = (word ?? "") + text.slice(index + 1, end);
        isQuoted = true;
        index = end + 1;
        break;
      }
      case '"':
        if (isEmbedded && word !== undefined) break loop;
        word = word ?? "";
        isQuoted = true;
        index++;
        while (index < text.length && text[index] !== '"') {
          const quoted = text[index] ?? "";
          if (quoted === "$") readDollar(true);
          else if (quoted === "`") index = readBackticks();
          else {
            const isEscape = quoted === "\\" && /["\\$`\n]/.test(text[index + 1] ?? "");
            word += isEscape ? (text[index + 1] ?? "") : quoted;
            index += isEscape ? 2 : 1;
          }
        }
        index++;
        break;
      case "`":
        if (isEmbedded && word !== undefined) break loop;
        word = word ?? "";
        index = readBackticks();
        break;
      case "$":
        readDollar(false);
        break;
      case "\\":
        if (text[index + 1] !== "\n") word = (word ?? "") + (text[index + 1] ?? "");
        index += 2;
        break;
      case "#":
        if (word === undefined && !isEmbedded && text[index + 1] !== "!") index = endOf(text, "\n", index);
        else {
          word = `${word ?? ""}#`;
          index++;
        }
        break;
      default: {
        PLAIN.lastIndex = index;
        const [plain = character] = PLAIN.exec(text) ?? [];
        word = (word ?? "") + plain;
        index += plain.length;
      }
    }
  }
  endCommand(false);
  return { commands, substitutions, end: Math.min(index, text.length) };

  function readBackticks(): number {
    const end = endOf(text, "`", index + 1);
    substitutions.push(text.slice(index + 1, end));
    return end + 1;
  }
}

const endOf = (text: string, mark: string, from: number) => {
  const end = text.indexOf(mark, from);
  return end === -1 ? text.length : end;
};

/** Where the `)` of a `$(` stands, or the text ends. */
function closingParenthesis(text: string, from: number): number {
  let depth = 1;
  for (let index = from; index < text.length; index++) {
    const character = text[index];
    if (character === "\\") index++;
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return index;
  }
  return text.length;
}

/** Reads `name`, `{name}` or `{name:-fallback}` after a `$`. */
function readName(text: string, from: number): { name: string; fallback?: string | undefined; end: number } {
  if (text[from] === "{") {
    const end = endOf(text, "}", from);
    const [, name = "", fallback] =
      /^!?(\w+|[@*#?$!-])(?::?[-=](.*))?/s.exec(text.slice(from + 1, Math.min(end, from + 512))) ?? [];
    return { name, fallback, end: end + 1 };
  }
  if (!NAME_CHARACTER.test(text[from] ?? ""))
    return { name: "", end: from + (/[@*#?$!-]/.test(text[from] ?? "") ? 1 : 0) };
  let end = from + 1;
  // `$1x` is the first argument and an x.
  while (!/\d/.test(text[from] ?? "") && NAME_CHARACTER.test(text[end] ?? "")) end++;
  return { name: text.slice(from, end), end };
}

const ASSIGNMENT = /^(\w+)=(.*)$/s;

/** Takes the assignments at the beginning of a command, and those of `export` and `for NAME in VALUE`. */
function assign(words: readonly Word[], variables: Map<string, string>): void {
  const [first, second, third, fourth] = words;
  if ((first?.text === "for" || first?.text === "do") && third?.text === "in" && second && fourth) {
    variables.set(second.text, fourth.text);
  }
  for (const { text } of words.slice(
    /^(?:export|local|declare|set|readonly|do|then)$/.test(first?.text ?? "") ? 1 : 0,
  )) {
    const [, name, value = ""] = ASSIGNMENT.exec(text) ?? [];
    if (name === undefined || variables.size >= MAX_VARIABLES) return;
    if (value.length <= MAX_VALUE_LENGTH) variables.set(name, value);
  }
}
