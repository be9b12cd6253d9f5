import { FOUND } from "../observation/members.ts";
import type { Callback } from "./callback.ts";
import { findInCommand, findInDecoded, findInProgram, findInShell, type Reading } from "./commands.ts";
import { decodeEntities, decodePercent, textsInJson } from "./decode.ts";
import { readUrl, type Target, targetOf } from "./host.ts";
import { findJndi } from "./lookups.ts";

/** What callbacks are found in. */
export type CallbackSource = {
  readonly urls?: readonly string[] | undefined;
  readonly payload_sha256?: readonly string[] | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly credentials?:
    | readonly { readonly username?: string | undefined; readonly password?: string | undefined }[]
    | undefined;
  readonly http?:
    | {
        readonly host?: string | undefined;
        readonly path?: string | undefined;
        readonly query?: string | undefined;
        readonly user_agent?: string | undefined;
        readonly referer?: string | undefined;
        readonly header_lines?: readonly string[] | undefined;
        readonly body?: string | undefined;
      }
    | undefined;
};

/** What each way to name a host has in it, percent-encoded too. Most texts have nothing of it, and are not read. */
const HINT =
  /:[/\\]|\$[{%]|%24|%3a%2f|wget|curl|ftp|\/dev\/[tu]|\bnc(?:at)?[\s+$,%]|telnet|socat|\bssh[\s+$,%]|\bscp[\s+$,%]|connect\W|sock(?:et)?\b|fsock|peeraddr|slaveof|replicaof|base64|powershell|pwsh|rsync|\bgit[\s+]|openssl|_proxy=|\bopen[\s+]|migrate|(?:-o|--url|--pool)[\s+=]/i;
const MAX_TEXT_LENGTH = 1_024;
const MAX_READ = 32_768;

/**
 * Whom an observation tells the sensor to call, each once: see ASK "callbacks" in docs/callbacks.md. Nothing is
 * resolved or fetched.
 * @param isOwnAddress whether an address is one of the sensors' own
 */
export function findCallbacks(source: CallbackSource, isOwnAddress: (address: string) => boolean): Callback[] {
  const found = new Map<string, Callback>();
  const { urls, payload_sha256, commands, credentials, http } = source;
  const adds =
    (text: string, sha256 = "") =>
    (target: Target | undefined) => {
      if (target === undefined || found.size >= FOUND.callbacks.maxItems || isOwnAddress(target.host)) return;
      const { host, port, scheme, path } = target;
      const key = `${host} ${port} ${scheme} ${path} ${sha256}`;
      if (!found.has(key)) found.set(key, { ...target, text: excerpt(text, host), sha256 });
    };
  const read = (text: string | undefined, find: (text: string, reading: Reading) => void) => {
    if (text !== undefined && HINT.test(text)) find(text, { add: adds(text), left: MAX_READ });
  };
  if (commands) for (const command of commands) read(command, findInTyped);
  if (credentials) {
    for (const { username, password } of credentials) {
      read(username, findInRequest);
      read(password, findInRequest);
    }
  }
  if (http) {
    const { path, query } = http;
    read(query === undefined || query === "" ? path : `${path ?? ""}?${query}`, findInRequest);
    read(http.host, findInText);
    read(http.user_agent, findInText);
    read(http.referer, findInText);
    if (http.header_lines) for (const line of http.header_lines) read(line, findInRequest);
    read(http.body, findInBody);
  }
  if (urls) {
    const isOnly = urls.length === 1 && payload_sha256?.length === 1;
    for (const url of urls) adds(url, isOnly ? payload_sha256?.[0] : "")(readUrl(url.trim()));
  }
  return found.size === 0 ? NONE : [...found.values()];
}

const NONE: Callback[] = [];

/** A path of servers that answer a JNDI lookup with a class that runs this command. */
const COMMAND_IN_PATH = /\/Base64\/([\w+/=-]{8,})/i;

function findInLookups(text: string, reading: Reading): void {
  if (!text.includes("${")) return;
  for (const location of findJndi(text)) {
    reading.add(readUrl(location));
    const [, encoded] = COMMAND_IN_PATH.exec(location) ?? [];
    if (encoded !== undefined) findInDecoded(encoded, reading, 0);
  }
}

/** What was typed into a shell. */
function findInTyped(text: string, reading: Reading): void {
  const place = { depth: 0, isTyped: true };
  findInLookups(text, reading);
  findInProgram(text, reading, place, false);
  findInShell(text, reading, place);
}

/** A text of a request, which may be percent-encoded. */
function findInRequest(text: string, reading: Reading): void {
  findInText(decodePercent(text), reading);
}

function findInBody(body: string, reading: Reading): void {
  const trimmed = body.trimStart();
  if (/^[[{"]/.test(trimmed)) {
    for (const texts of textsInJson(trimmed)) {
      for (const text of texts) if (HINT.test(text)) findInText(text, reading);
      if (texts.length > 1) {
        const words = texts.map((text) => ({ text, isQuoted: true }));
        findInCommand({ words, redirects: [], isPiped: false }, reading, { depth: 0, isTyped: false });
      }
    }
    return;
  }
  findInText(decodeEntities(decodePercent(body)), reading);
}

/** Where a command may begin in a text that is something else. */
const COMMAND =
  /(?<![\w.-])(?:wget2?|curl|a?tftp|l?ftp|ftpget|nc|ncat|netcat|telnet|ssh|scp|rsync|socat|busybox|powershell|pwsh|iwr|irm|invoke-(?:webrequest|restmethod)|start-bitstransfer|certutil|bitsadmin|mshta|regsvr32|msiexec|lwp-(?:download|request)|aria2c|axel|git|(?:ba|da|a|z)?sh|echo|printf|exec|slaveof|replicaof|https?_proxy=)(?:\.exe)?(?=[\s,"';]|\$\{?IFS|\/dev\/|$)/gi;
const LOCATION = /\b(?:ldaps?|rmi|iiop):\/\/[^\s"'<>\\}]{1,1024}/gi;
const DEVICES = /\/dev\/(tcp|udp)\/([^/\s]{1,253})\/(\d{1,5})/g;
const MAX_STARTS = 32;

/** A text that may carry a command or a lookup. */
function findInText(text: string, reading: Reading): void {
  findInLookups(text, reading);
  findInProgram(text, reading, { depth: 0, isTyped: false }, false);
  for (const [location] of text.matchAll(LOCATION)) reading.add(readUrl(location));
  for (const [, scheme = "", host = "", port] of text.matchAll(DEVICES)) reading.add(targetOf(scheme, host, port));
  let end = 0;
  let starts = 0;
  for (const { index } of text.matchAll(COMMAND)) {
    if (index < end || ++starts > MAX_STARTS) continue;
    const start = text[index - 1] === "{" ? index - 1 : index;
    end = findInShell(text, reading, { depth: 0, isTyped: false }, { start });
  }
}

/** The part of a text around a place in it. */
function excerpt(text: string, place: string): string {
  if (text.length <= MAX_TEXT_LENGTH) return text;
  const index = Math.max(text.indexOf(place), 0);
  const start = Math.max(Math.min(index - MAX_TEXT_LENGTH / 2, text.length - MAX_TEXT_LENGTH), 0);
  return text.slice(start, start + MAX_TEXT_LENGTH).toWellFormed();
}
