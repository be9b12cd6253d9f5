import { FOUND } from "../observation/members.ts";
import type { Callback } from "./callback.ts";
import { findInCommand, findInDecoded, findInProgram, findInShell, type Reading } from "./commands/find-in-shell.ts";
import { decodeEntities, decodePercent, textsInJson } from "./commands/decode.ts";
import { readUrl, type Target, targetOf } from "./host.ts";
import { mayCall, mayCommandCall } from "./hint.ts";
import { findJndi } from "./commands/lookups.ts";

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

const MAX_TEXT_LENGTH = 1_024;
/** Texts of this length may have been cut when they were taken in. */
const MIN_CUT_LENGTH = 1_024;
/** Max characters that are read of an observation; texts in texts count again. */
const MAX_READ = 131_072;
const NONE: Callback[] = [];

/**
 * Whom an observation tells the sensor to call, each once. Nothing is resolved or fetched.
 * @param isOwnAddress whether an address is one of the sensors' own
 */
export function findCallbacks(source: CallbackSource, isOwnAddress: (address: string) => boolean): Callback[] {
  return hasAny(source) ? readCallbacks(source, isOwnAddress) : NONE;
}

/** Whether there is anything to read. */
function hasAny({ urls, commands, credentials, http }: CallbackSource): boolean {
  if (urls !== undefined && urls.length > 0) return true;
  if (commands?.some(mayCommandCall)) return true;
  if (credentials?.some(({ username, password }) => mayCall(username) || mayCall(password))) return true;
  if (http === undefined) return false;
  const { host, path, query, user_agent, referer, header_lines, body } = http;
  if (mayCall(path) || mayCall(query) || mayCall(user_agent) || mayCall(body)) return true;
  return mayCall(host) || mayCall(referer) || header_lines?.some(mayCall) === true;
}

function readCallbacks(source: CallbackSource, isOwnAddress: (address: string) => boolean): Callback[] {
  const { urls = [], payload_sha256 = [], commands = [], credentials = [], http = {} } = source;
  const found = new Map<string, Callback>();
  let text = "";
  const add = (target: Target | undefined, sha256 = "") => {
    if (target === undefined || found.size >= FOUND.callbacks.maxItems || isOwnAddress(target.host)) return;
    const { host, port, scheme, path } = target;
    // `http://45.0.0.1` may be the beginning of `http://45.0.0.123/x`.
    if (text.length >= MIN_CUT_LENGTH && text.toLowerCase().endsWith(host)) return;
    const key = `${host} ${port} ${scheme} ${path} ${sha256}`;
    if (!found.has(key)) found.set(key, { ...target, text: excerpt(text, host), sha256 });
  };
  const reading: Reading = { add, left: MAX_READ };
  for (text of commands) if (mayCommandCall(text)) findInTyped(text, reading);
  const { path = "", query = "", header_lines = [], body } = http;
  const requested = [
    ...credentials.flatMap(({ username, password }) => [username, password]),
    query === "" ? path : `${path}?${query}`,
    http.host,
    http.user_agent,
    ...header_lines,
  ];
  for (text of requested.filter((one) => one !== undefined))
    if (mayCall(text)) findInText(decodePercent(text), reading);
  // The address of a page where somebody searched for a command stays encoded.
  for (text of [http.referer ?? ""]) if (mayCall(text)) findInText(text, reading);
  for (text of [body ?? ""]) if (mayCall(text)) findInBody(text, reading);
  const [sha256] = urls.length === 1 && payload_sha256.length === 1 ? payload_sha256 : [];
  for (text of urls) add(readUrl(text.trim()), sha256);
  return [...found.values()];
}

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

function findInBody(body: string, reading: Reading): void {
  const trimmed = body.trimStart();
  if (/^[[{"]/.test(trimmed)) {
    for (const texts of textsInJson(trimmed)) {
      if (!texts.some(mayCommandCall)) continue;
      if (texts.length === 1) {
        for (const text of texts) findInText(text, reading);
        continue;
      }
      // The words of one command, as containers are given.
      const words = texts.map((text) => ({ text, isQuoted: true }));
      findInCommand({ words, redirects: [], isPiped: false }, reading, { depth: 0, isTyped: true });
      for (const text of texts) {
        findInLookups(text, reading);
        findInProgram(text, reading, { depth: 0, isTyped: false }, false);
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
