import { isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Rejection } from "@noisefloor/domain/observation/observation.ts";
import { countJsonValues, findJsonExcess, MAX_JSON_VALUES } from "@noisefloor/domain/text/json-bounds.ts";
import { type Fields, isFields, textAt } from "../fields.ts";
import { type Envelope, nestEnvelopes, readEnvelope, readHead } from "./envelope.ts";

/** Members in which shippers put what they carry. What visitors have sent stands elsewhere, and nothing there is a record. */
const CARRIERS = [
  "message",
  "log",
  "event",
  "_source",
  "original",
  "MESSAGE",
  "line",
  "payload",
  "_raw",
  "msg",
  "json",
  "result",
  "short_message",
  "full_message",
  "textPayload",
  "jsonPayload",
];
/** Members that list what is carried, or hold such a list. */
const LISTS = ["hits", "events", "logEvents", "records", "results"];
const FOLLOWED = new Set([...CARRIERS, ...LISTS]);
/** Members that name the source of a visit: an object with one is a record itself, and what is in it came from the visitor. */
const SOURCES = ["src_ip", "source_ip", "src_host", "source.ip", "client_ip", "client.ip", "remote_ip", "remote_addr"];
const MORE_SOURCES = [
  "peer.ip",
  "peerIP",
  "attacker_ip",
  "attackerIP",
  "sip",
  "saddr",
  "srcip",
  "sourceIp",
  "SourceIp",
];
/** Max wrappers nested in each other. */
const MAX_LEVELS = 6;
/** Max objects and texts of one record that are searched. */
const MAX_VISITS = 48;
/** Max objects and texts of each record where one wrapper holds several, and max records of one wrapper. */
const MAX_ELEMENT_VISITS = 8;
const MAX_ELEMENTS = 1_000;
/** The first elements of a list, which show whether it holds records. */
const PROBED_ELEMENTS = 3;
/** Max length of a line's text before its JSON. */
const MAX_HEAD_LENGTH = 1024;

/** A record in a wrapper: an object, or a line of text. */
export type WrappedRecord = { readonly value: unknown; readonly envelope: Envelope };

export type Wrapped = {
  /** One or more records; none when nothing in the wrapper is one. */
  readonly records: readonly WrappedRecord[];
  /** The first plain text in a carrier. */
  readonly line?: WrappedRecord | undefined;
  /** Why a text in it could not be read as JSON. */
  readonly rejection?: Rejection | undefined;
  /** Everything in the wrapper that was looked at, so that it is parsed once for all questions. */
  readonly visited: readonly (Fields | string)[];
};

/** How many objects and texts may still be looked at, of all wrappers of a sender's request together. */
export type VisitBudget = { left: number };

type Search = {
  readonly isRecord: (value: Fields | string) => boolean;
  /** What may still be parsed, for all texts together. */
  valuesLeft: number;
  readonly visits: VisitBudget | undefined;
  readonly visited: (Fields | string)[];
  line?: WrappedRecord;
  rejection?: Rejection;
};

type Node = {
  readonly value: unknown;
  readonly envelope: Envelope;
  readonly level: number;
  readonly isCarried: boolean;
};

/**
 * Looks for records inside a value that is no record itself: in the members of an object, in texts of JSON, after a
 * syslog head, in lists. The outermost counts.
 */
export function findWrapped(
  outer: Fields | string,
  envelope: Envelope | undefined,
  isRecord: (value: Fields | string) => boolean,
  visits?: VisitBudget,
): Wrapped {
  const search: Search = { isRecord, valuesLeft: MAX_JSON_VALUES, visits, visited: [] };
  const root = { value: outer, envelope: envelope ?? {}, level: 0, isCarried: true };
  const records = find(typeof outer === "string" ? [root] : childrenOf(outer, root), MAX_VISITS, search) ?? [];
  return { records, line: search.line, rejection: search.rejection, visited: search.visited };
}

const EXHAUSTED: Rejection = {
  reason: "oversize",
  detail:
    "the request has too many wrappers in each other: name the format, or send the records as the sensor wrote them",
};

/** Whether one more object or text may be looked at. */
function mayVisit(value: Fields | string, { visits, visited }: Search): boolean {
  if (visits !== undefined && visits.left-- <= 0) return false;
  visited.push(value);
  return true;
}

/** Breadth first. */
function find(roots: readonly Node[], maxVisits: number, search: Search): readonly WrappedRecord[] | undefined {
  const queue = [...roots];
  for (let index = 0; index < queue.length && index < maxVisits; index++) {
    const node = queue[index];
    if (node === undefined) break;
    const { value, envelope, level, isCarried } = node;
    if (Array.isArray(value)) {
      const records = findInList(value, node, search);
      if (records !== undefined) return records;
    } else if ((typeof value === "string" || isFields(value)) && !mayVisit(value, search)) {
      search.rejection = EXHAUSTED;
      return undefined;
    } else if (typeof value === "string") {
      if (search.isRecord(value)) return [{ value, envelope }];
      const read = readText(value, node, search);
      if (read !== undefined) queue.push(read);
      else if (isCarried) search.line ??= { value, envelope };
    } else if (isFields(value)) {
      if (search.isRecord(value)) return [{ value, envelope }];
      if (level < MAX_LEVELS) queue.push(...childrenOf(value, node));
    }
  }
  return undefined;
}

/** All elements of a list, when one of the first holds a record. */
function findInList(list: readonly unknown[], { envelope, level }: Node, search: Search) {
  if (level >= MAX_LEVELS) return undefined;
  const findIn = (value: unknown) =>
    find([{ value, envelope, level: level + 1, isCarried: false }], MAX_ELEMENT_VISITS, search);
  const probed = list.slice(0, PROBED_ELEMENTS).map(findIn);
  if (probed.every((records) => records === undefined)) return undefined;
  if (list.length > MAX_ELEMENTS) {
    const detail = `the record holds ${list.length} records, at most ${MAX_ELEMENTS} are accepted`;
    search.rejection = { reason: "too-many-observations", detail };
    return undefined;
  }
  const others = list.slice(PROBED_ELEMENTS).map(findIn);
  return [...probed, ...others].flatMap((records, index) => records ?? [{ value: list[index], envelope }]);
}

/** What may be or hold a record in an object. */
function childrenOf(wrapper: Fields, node: Node): Node[] {
  if (namesVisitor(wrapper)) return [];
  const envelope = nestEnvelopes(node.envelope, readEnvelope(wrapper));
  const toNode = (name: string, value: unknown): Node => ({
    ...{ value: readBytes(value), envelope, level: node.level + 1 },
    isCarried: node.isCarried && !LISTS.includes(name),
  });
  const carried = CARRIERS.flatMap((name) => (Object.hasOwn(wrapper, name) ? [toNode(name, wrapper[name])] : []));
  const further: Node[] = [];
  const names = Object.keys(wrapper);
  for (const name of names) {
    // A path may be written as one name: `event.original`.
    const last = name.slice(name.lastIndexOf(".") + 1);
    const isOnly = names.length === 1 && isFields(wrapper[name]);
    if (!CARRIERS.includes(name) && (FOLLOWED.has(last) || isOnly)) further.push(toNode(last, wrapper[name]));
    if (further.length === MAX_VISITS) break;
  }
  return [...carried, ...further];
}

/** Whether an object says whose visit it is. Vector's sources name the machine that the line came from. */
function namesVisitor(wrapper: Fields): boolean {
  const source = textAt(wrapper, ...SOURCES, ...MORE_SOURCES);
  return source !== undefined && isRoutableIpv4(source) && !("source_type" in wrapper);
}

/** journald writes a text with control characters as the list of its bytes. */
function readBytes(value: unknown): unknown {
  const isBytes = Array.isArray(value) && value.length > 0 && value.every((byte) => Number.isInteger(byte));
  return isBytes ? Buffer.from(value).toString("utf8") : value;
}

/** What a text holds: JSON, alone or after a head, several lines, or a form. */
function readText(whole: string, { envelope, level, isCarried }: Node, search: Search): Node | undefined {
  if (level >= MAX_LEVELS) return undefined;
  const text = whole.trim();
  const toNode = (value: unknown, around: Envelope = envelope) => ({
    ...{ value, envelope: around, level: level + 1, isCarried },
  });
  if (/^[{["]/.test(text)) {
    const value = parse(text, search);
    if (value !== undefined) return toNode(value);
  }
  const lines = text.split("\n", MAX_ELEMENTS + 1);
  if (lines.length > 1) return toNode(lines);
  const brace = text.indexOf("{");
  if (brace > 0 && brace <= MAX_HEAD_LENGTH) {
    const head = readHead(text.slice(0, brace));
    const value = head && parse(text.slice(brace), search);
    if (head !== undefined && value !== undefined) return toNode(value, nestEnvelopes(envelope, head));
  }
  if (/^[\w.-]{1,64}=(?:%7B|%5B|%22)/i.test(text)) return toNode(Object.fromEntries(new URLSearchParams(text)));
  return undefined;
}

function parse(text: string, search: Search): unknown {
  const excess = findJsonExcess(text, search.valuesLeft);
  if (excess !== undefined) {
    search.rejection = { reason: "oversize", detail: `JSON in the record ${excess}` };
    return undefined;
  }
  search.valuesLeft -= countJsonValues(text);
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
