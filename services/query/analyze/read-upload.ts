import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { routableAddressesIn } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import { contentLength } from "@noisefloor/http/requests/content-length.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { decodeFile, TOO_LARGE } from "./decode-file.ts";

const MAX_TEXT_BYTES = 10 * 1024 * 1024;
/** Max bytes of the whole form: what surrounds the text counts, too. */
const MAX_FORM_BYTES = MAX_TEXT_BYTES + 64 * 1024;
/** All of them are looked up for one response, as in other operations on many. */
export const MAX_ADDRESSES = 10_000;
export const NO_FILE = 'The request body must be multipart/form-data with the text as its member "file"';
const TOO_MANY_ADDRESSES = `The text has more than ${MAX_ADDRESSES} addresses: send it in parts`;

/**
 * The distinct routable addresses of a text that was uploaded. A class, so that a route can tell it from other bodies.
 */
export class UploadedAddresses {
  readonly ips: readonly string[];
  constructor(ips: readonly string[]) {
    this.ips = ips;
  }
}

/**
 * Finds the addresses of a text while it arrives.
 * @throws HttpError 400 for any other body, and for one beyond a limit.
 */
export async function readUpload(payload: Readable, headers: IncomingHttpHeaders): Promise<UploadedAddresses> {
  if (contentLength({ headers }) > MAX_FORM_BYTES) throw new HttpError(400, TOO_LARGE);
  const found = new Set<string>();
  let reading: Promise<void> | undefined;
  let error: HttpError | undefined;
  const form = openForm(headers["content-type"] ?? "");
  form.on("file", (_name, file) => {
    const fail = (reason: unknown) => {
      error ??= reason instanceof HttpError ? reason : undefined;
      form.destroy(error);
    };
    file.on("limit", () => fail(new HttpError(400, TOO_LARGE)));
    // That of the form says it as well.
    file.on("error", () => {});
    reading = collectFrom(decodeFile(file, MAX_TEXT_BYTES), found).catch(fail);
  });
  try {
    await pipeline(payload, boundForm, form);
    await reading;
    if (error !== undefined) throw error;
  } catch (failure) {
    // What the connection or the limits on bodies say comes first.
    throw error ?? (failure instanceof HttpError ? failure : new HttpError(400, NO_FILE));
  }
  if (reading === undefined) throw new HttpError(400, NO_FILE);
  return new UploadedAddresses([...found]);
}

async function collectFrom(text: AsyncIterable<string>, found: Set<string>): Promise<void> {
  const collector = collectAddresses(found);
  const check = () => {
    if (found.size > MAX_ADDRESSES) throw new HttpError(400, TOO_MANY_ADDRESSES);
  };
  for await (const piece of text) {
    collector.add(piece);
    check();
    // Pieces that have arrived, or come of one compressed chunk, would be one long turn.
    await yieldToEventLoop();
  }
  collector.end();
  check();
}

async function* boundForm(payload: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of payload) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) throw new HttpError(400, TOO_LARGE);
    yield chunk;
  }
}

function openForm(contentType: string) {
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      // Clients send the text with a file's name and without.
      isPartAFile: (name) => name === "file",
      limits: { fileSize: MAX_TEXT_BYTES, files: 1, parts: 10, headerPairs: 20 },
    });
  } catch {
    throw new HttpError(400, NO_FILE);
  }
}

/** A longer word is read in parts. */
const MAX_WORD_CHARACTERS = 16 * 1024;

/** Where the last word of a text begins, which may go on in the next piece. */
function lastWordOf(text: string): number {
  let start = text.length;
  while (start > 0 && !/[\s,;|"'<>]/.test(text.charAt(start - 1))) start--;
  return start;
}

/** No address is longer, in any spelling. */
const MAX_ADDRESS_CHARACTERS = 64;

/** Where a text can be cut near its end so that no address is cut. */
function beforeLastAddress(text: string): number {
  let end = text.length;
  const least = Math.max(0, text.length - MAX_ADDRESS_CHARACTERS);
  while (end > least && /[\w.:[\](){}-]/.test(text.charAt(end - 1))) end--;
  return end;
}

/** Finds addresses in pieces of a text, which may be cut anywhere. */
export function collectAddresses(found: Set<string>) {
  let rest = "";
  const read = (part: string) => {
    for (const ip of routableAddressesIn(part)) found.add(ip);
  };
  return {
    add(piece: string) {
      const text = rest + piece;
      const lineEnd = text.lastIndexOf("\n") + 1;
      // Where there are lines, whole ones: blanks belong to addresses such as `192 . 0 . 2 . 1`.
      const end = text.length - lineEnd < MAX_WORD_CHARACTERS ? lineEnd : lastWordOf(text);
      const cut = text.length - end < MAX_WORD_CHARACTERS ? end : beforeLastAddress(text);
      rest = text.slice(cut);
      if (cut > 0) read(text.slice(0, cut));
    },
    end() {
      read(rest);
      rest = "";
    },
  };
}
