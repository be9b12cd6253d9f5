import { CLIENTS, nameOfProgram, urlIn } from "./clients.ts";
import { findEncoded, findInCode } from "./code.ts";
import { decodeBase64, decodeEscapes } from "./decode.ts";
import { readUrl, type Target, targetOf } from "../host.ts";
import { readShell, type ShellCommand, type Word } from "./shell.ts";

/** Where what is found goes, and how much may still be read. */
export type Reading = {
  readonly add: (target: Target | undefined) => void;
  /** Characters that may still be read: texts in texts count again. */
  left: number;
};

type Place = {
  readonly depth: number;
  /** Whether it is what somebody typed, or a program ran: any command then may take a URL. */
  readonly isTyped: boolean;
  /** Whether it was encoded: it is decoded only once. */
  readonly isDecoded?: boolean;
  readonly variables?: Map<string, string>;
};

const MAX_DEPTH = 6;

/** Programs that run the command in their arguments. */
const RUNNERS = new Set(
  (
    "echo @echo sudo doas busybox nohup env exec eval time timeout nice ionice setsid stdbuf xargs command builtin if then else elif do " +
    "while until ! { root watch chroot start cmd /c call @start unshare runuser"
  ).split(" "),
);
const SHELLS = new Set(["sh", "bash", "ash", "dash", "zsh", "ksh", "su", "eval", "cmd", "script"]);
const PROGRAMS = /^(?:python[\d.]*|perl|php\d*|ruby|node|nodejs|lua|powershell|pwsh|iex)$/;
/** Commands that show or compare a URL, and do not fetch it. */
const READERS = new Set(
  "echo printf set append grep egrep fgrep sed awk test [ cd ls rm cat alias logger history get post head".split(" "),
);

/** Finds the hosts in a shell's commands. @returns where the text ended. */
export function findInShell(
  text: string,
  reading: Reading,
  { depth, isTyped, isDecoded = false, variables = new Map() }: Place,
  embedded?: { readonly start: number },
): number {
  const start = embedded?.start ?? 0;
  if (depth > MAX_DEPTH || reading.left <= 0) return text.length;
  const { commands, substitutions, end } = readShell(text, { start, isEmbedded: embedded !== undefined, variables });
  reading.left -= end - start;
  const inner = { depth: depth + 1, isDecoded, variables };
  for (const [index, command] of commands.entries()) {
    findInCommand(command, reading, { depth, isTyped, isDecoded, variables });
    if (isDecoded || !decodesBase64(command)) continue;
    const source = command.isPiped ? commands[index - 1] : undefined;
    const encoded = [...(source?.words.map((word) => word.text) ?? []), ...command.redirects];
    for (const part of encoded) findInDecoded(part, reading, depth);
  }
  for (const substitution of substitutions) findInShell(substitution, reading, { ...inner, isTyped });
  return end;
}

/** Finds the hosts in what is encoded. */
export function findInDecoded(encoded: string, reading: Reading, depth: number): void {
  const decoded = decodeBase64(encoded);
  if (decoded === undefined) return;
  for (const target of findInCode(decoded, false)) reading.add(target);
  findInShell(decoded, reading, { depth: depth + 1, isTyped: true, isDecoded: true });
}

/** Finds the hosts in code, and in what it decodes. */
export function findInProgram(
  code: string,
  reading: Reading,
  { depth, isDecoded = false }: Place,
  isProgram: boolean,
): void {
  for (const target of findInCode(code, isProgram)) reading.add(target);
  if (!isDecoded) for (const encoded of findEncoded(code)) findInDecoded(encoded, reading, depth);
}

const DECODERS = new Set(["base64", "openssl"]);

const decodesBase64 = ({ words }: ShellCommand) => {
  const decoder = words.findIndex(({ text }) => DECODERS.has(nameOfProgram(text)));
  return decoder !== -1 && words.slice(decoder).some(({ text }) => /^(?:-[a-z]*d[a-z]*|-D|--decode)$/.test(text));
};

const DEVICE = /\/dev\/(tcp|udp)\/([^/\s]+)\/(\d{1,5}|\$\w+)/;
const PROXY = /^(?:https?|ftp|all|socks)_proxy=(.*)$/i;
const POOL = /^(?:stratum\S*:\/\/)?([^\s:/]+):(\d{2,5})$/;

/** Max names of clients that are read in one command, and max arguments of each. */
const MAX_CLIENTS = 8;
const MAX_ARGUMENTS = 64;

/** Finds the hosts in one command. */
export function findInCommand(command: ShellCommand, reading: Reading, place: Place): void {
  const { depth, isTyped, isDecoded = false, variables = new Map<string, string>() } = place;
  const words = command.words.map(({ text }) => text);
  const names = words.map(nameOfProgram);
  for (const text of [...words, ...command.redirects]) readSpecialWord(text, reading);
  const first = words.findIndex((word) => !ASSIGNMENT.test(word));
  let isCommand = true;
  let clients = 0;
  for (const [index, name] of names.entries()) {
    if (index < first || name === "" || clients > MAX_CLIENTS) continue;
    const client = CLIENTS.get(name);
    const isProgram = PROGRAMS.test(name);
    if (isProgram || (client !== undefined && (isCommand || !ONLY_FIRST.has(name)))) {
      const args = words.slice(index + 1, index + 1 + MAX_ARGUMENTS);
      if (isProgram) for (const arg of args) findInProgram(arg, reading, place, true);
      if (name === "powershell" || name === "pwsh") findEncodedCommand(args, reading, place);
      if (client !== undefined) {
        clients++;
        const hasUrl = args.some((arg) => arg.includes(":/"));
        for (const target of client(args, isCommand)) {
          if (isCommand || hasUrl || (target && isSure(target))) reading.add(target);
        }
      }
    }
    isCommand = isCommand && (RUNNERS.has(name) || /^(?:-|\w+=|\d+[smh]?$)/.test(words[index] ?? ""));
  }
  const program = names[first] ?? "";
  const runs = names.some((name) => SHELLS.has(name));
  for (const word of command.words) {
    if (!isText(word)) continue;
    const text = READERS.has(program) ? decodeEscapes(word.text) : word.text;
    findInShell(text, reading, { depth: depth + 1, isTyped: isTyped && runs, isDecoded, variables });
  }
  if (isTyped && clients === 0 && !READERS.has(program)) findAnyUrl(words.slice(first), reading);
}

const ASSIGNMENT = /^\w+=/;

/** A word that names a host whatever the command: a device of bash, or a proxy. */
function readSpecialWord(text: string, reading: Reading): void {
  if (text.includes("/dev/")) {
    const [, scheme = "", host = "", port] = DEVICE.exec(text) ?? [];
    if (host !== "") reading.add(targetOf(scheme, host, port));
  } else if (text.includes("_")) {
    const [, proxy] = PROXY.exec(text) ?? [];
    if (proxy !== undefined) reading.add(readUrl(proxy) ?? readUrl(`http://${proxy}`));
  }
}

/** Clients whose names are words of other commands, too. */
const ONLY_FIRST = new Set([
  "open",
  "http",
  "https",
  "fetch",
  "links",
  "go",
  "java",
  "git",
  "hh",
  "npm",
  "pip",
  "pip3",
  "migrate",
  "svn",
  "hg",
]);

const isText = ({ text, isQuoted }: Word) => isQuoted && /\s/.test(text.trim());
/** A name alone could be the argument of another command. */
const isSure = ({ host, path }: Target) => /^[\d.]+$/.test(host) || path.length > 1;

/** `-enc TEXT`: PowerShell takes any beginning of its option's name. */
function findEncodedCommand(args: readonly string[], reading: Reading, { depth, isDecoded = false }: Place): void {
  const option = args.findIndex((arg) => /^[-/]e(?:c|n\w*)?$/i.test(arg));
  const encoded = option === -1 ? undefined : args[option + 1];
  const decoded = encoded === undefined || isDecoded ? undefined : decodeBase64(encoded);
  if (decoded === undefined) return;
  findInProgram(decoded, reading, { depth, isTyped: true, isDecoded: true }, true);
  findInShell(decoded, reading, { depth: depth + 1, isTyped: true, isDecoded: true });
}

/** A command that is not known takes a URL, or a miner its pool. A typed request is no command. */
function findAnyUrl([program = "", ...args]: readonly string[], reading: Reading): void {
  if (!/^[\w./~+-]+$/.test(program) || args.some((arg) => /^HTTP\/\d/.test(arg))) return;
  for (const [index, arg] of args.entries()) {
    const isPool = /^(?:-o|--url|--pool)$/.test(args[index - 1] ?? "");
    const [, host, port] = (isPool ? POOL.exec(arg) : undefined) ?? [];
    reading.add(/^(?:[a-z]|--url=)/i.test(arg) && !/^\w+=/.test(arg) ? urlIn(arg) : undefined);
    if (host !== undefined) reading.add(targetOf("tcp", host, port));
  }
}
