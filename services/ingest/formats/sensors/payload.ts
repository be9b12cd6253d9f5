import type { HttpDraft } from "../draft.ts";
import { isFields, toText } from "../fields.ts";

/** What the first bytes of a connection say. */
export type PayloadFacts = {
  readonly application?: string;
  readonly http?: HttpDraft;
  readonly ssh?: { readonly banner: string };
};

/** How many characters of a payload a decoder needs to pass on, be they hexadecimal. */
export const MAX_PAYLOAD_LENGTH = 16_384;

/** How much of a request is read: of its head, body and fields less is kept. */
const MAX_REQUEST_LENGTH = 64 * 1024;

/** How many cookies are read: the first names are kept. */
const MAX_COOKIES = 1_000;

const REQUEST_LINE = /^([A-Z]{3,16}) (\S{1,8192}) HTTP\/\d/;

/** Recognises the commonest openings: a request, an SSH banner, TLS, RDP, SMB, SIP. */
export function readPayload(bytes: Buffer): PayloadFacts {
  const text = bytes.toString("latin1");
  const http = readHttpRequest(text);
  if (http !== undefined) return { application: "http", http };
  if (text.startsWith("SSH-")) {
    const [banner = ""] = text.split(/[\r\n]/);
    return { application: "ssh", ssh: { banner } };
  }
  if (/^[A-Z]+ sips?:\S+ SIP\/2\.0/.test(text)) return { application: "sip" };
  if (bytes[0] === 0x16 && bytes[1] === 0x03) return { application: "tls" };
  if (text.slice(4, 8) === "\xffSMB" || text.slice(4, 8) === "\xfeSMB") return { application: "smb" };
  // TPKT, then a connection request of X.224.
  if (bytes[0] === 0x03 && bytes[1] === 0x00 && bytes[5] === 0xe0) return { application: "rdp" };
  return {};
}

/** Reads an HTTP request as it came over the wire; undefined if it is not one. */
export function readHttpRequest(whole: string): HttpDraft | undefined {
  const text = whole.slice(0, MAX_REQUEST_LENGTH);
  const [line, method, target] = REQUEST_LINE.exec(text) ?? [];
  if (line === undefined) return undefined;
  const end = text.search(/\r?\n\r?\n/);
  const head = (end < 0 ? text : text.slice(0, end)).split(/\r?\n/).slice(1);
  const fields = head.flatMap((field): [string, string][] => {
    const colon = field.indexOf(":");
    return colon < 1 ? [] : [[field.slice(0, colon).trim(), field.slice(colon + 1).trim()]];
  });
  const body = end < 0 ? "" : text.slice(end).replace(/^(?:\r?\n){2}/, "");
  return { method, target, ...readHeaderFields(fields), ...(body !== "" && { body }) };
}

/** Header fields as sensors log them: an object, or a list of names and values. */
export function toHeaderFields(value: unknown): (readonly [name: string, value: string])[] {
  const pairs: readonly unknown[] = isFields(value) ? Object.entries(value) : Array.isArray(value) ? value : [];
  return pairs.flatMap((pair) => {
    const [name, content]: readonly unknown[] = Array.isArray(pair) ? pair : [];
    const text = Array.isArray(content) ? content.flatMap((part) => toText(part) ?? []).join(", ") : toText(content);
    return typeof name !== "string" || content === undefined ? [] : [[name, text ?? ""] as const];
  });
}

/** What rules need of a request's header fields. */
export function readHeaderFields(fields: readonly (readonly [name: string, value: string])[]): HttpDraft {
  const fieldValue = (wanted: string) => fields.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const cookies = (fieldValue("cookie") ?? "")
    .split(";", MAX_COOKIES)
    .flatMap((cookie) => cookie.split("=", 1)[0]?.trim() || []);
  return {
    host: fieldValue("host"),
    userAgent: fieldValue("user-agent"),
    referer: fieldValue("referer"),
    headers: fields.map(([name]) => name),
    headerLines: fields.map(([name, value]) => `${name}: ${value}`),
    cookies,
  };
}
