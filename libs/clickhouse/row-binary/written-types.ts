import type { Callback } from "@noisefloor/domain/callbacks/callback.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import type { ValueWriter } from "./value-writer.ts";

/** A type of ClickHouse, and how its values are written. What is undefined becomes the default of the type. */
export type WrittenType<Value> = {
  /** As blocks in the format Native call it. Where the column has another one, the server converts the values. */
  readonly name: string;
  /** Writes a value as in the format RowBinary. */
  write(to: ValueWriter, value: Value | undefined): void;
  /** Writes the values of a column as in the format Native. */
  writeAll(to: ValueWriter, values: readonly (Value | undefined)[]): void;
  /** The same for a column without any value. */
  writeDefaults(to: ValueWriter, rows: number): void;
};

// `writeAll` walks values by their index: arrays come in several kinds there, and V8 would make an object for each
// step.

/** A type whose values follow each other in both formats. @param size of its default, of which each byte is 0. */
function plain<Value>(name: string, size: number, write: WrittenType<Value>["write"]): WrittenType<Value> {
  return {
    name,
    write,
    writeAll(to, values) {
      for (let at = 0; at < values.length; at++) write(to, values[at]);
    },
    writeDefaults: (to, rows) => to.fill(0, size * rows),
  };
}

/** In Native, arrays begin with where each of them ends; the items of all follow. */
function list<Item>(item: WrittenType<Item>): WrittenType<readonly Item[]> {
  return {
    name: `Array(${item.name})`,
    write(to, value = []) {
      to.count(value.length);
      for (const one of value) item.write(to, one);
    },
    writeAll(to, values) {
      const items: Item[] = [];
      for (let at = 0; at < values.length; at++) {
        const value = values[at];
        if (value !== undefined) for (const one of value) items.push(one);
        to.uint64(items.length);
      }
      item.writeAll(to, items);
    },
    writeDefaults: (to, rows) => to.fill(0, 8 * rows),
  };
}

/** In Native, a byte for each value says whether it is null; the values follow. */
function nullable<Value>(type: WrittenType<Value>): WrittenType<Value> {
  return {
    name: `Nullable(${type.name})`,
    write(to, value) {
      to.uint8(value === undefined ? 1 : 0);
      if (value !== undefined) type.write(to, value);
    },
    writeAll(to, values) {
      for (let at = 0; at < values.length; at++) to.uint8(values[at] === undefined ? 1 : 0);
      type.writeAll(to, values);
    },
    writeDefaults(to, rows) {
      to.fill(1, rows);
      type.writeDefaults(to, rows);
    },
  };
}

/** A member of a tuple, and how it is read from the tuple's value. */
type TupleMember<Value> = WrittenType<Value> & { readonly member: string };

const member = <Value, Member>(
  name: string,
  type: WrittenType<Member>,
  read: (value: Value) => Member,
): TupleMember<Value> => {
  const readAny = (value: Value | undefined) => (value === undefined ? undefined : read(value));
  return {
    name: type.name,
    member: name,
    write: (to, value) => type.write(to, readAny(value)),
    writeAll: (to, values) => type.writeAll(to, values.map(readAny)),
    writeDefaults: (to, rows) => type.writeDefaults(to, rows),
  };
};

/** In Native, the first members of all tuples come before their second ones. */
function tuple<Value>(...members: readonly TupleMember<Value>[]): WrittenType<Value> {
  return {
    name: `Tuple(${members.map(({ member, name }) => `${member} ${name}`).join(", ")})`,
    write(to, value) {
      for (const one of members) one.write(to, value);
    },
    writeAll(to, values) {
      for (const one of members) one.writeAll(to, values);
    },
    writeDefaults(to, rows) {
      for (const one of members) one.writeDefaults(to, rows);
    },
  };
}

export const TEXT = plain<string>("String", 1, (to, value = "") => to.text(value));
export const TEXTS = list(TEXT);
const UINT16 = plain<number>("UInt16", 2, (to, value = 0) => to.uint16(value));
export const LOGINS = list(
  tuple<{ readonly username?: string | undefined; readonly password?: string | undefined }>(
    member("username", TEXT, ({ username = "" }) => username),
    member("password", TEXT, ({ password = "" }) => password),
  ),
);
export const CALLBACKS = list(
  tuple<Callback>(
    member("host", TEXT, ({ host }) => host),
    member("port", UINT16, ({ port }) => port),
    member("scheme", TEXT, ({ scheme }) => scheme),
    member("path", TEXT, ({ path }) => path),
    member("text", TEXT, ({ text }) => text),
    member("sha256", TEXT, ({ sha256 }) => sha256),
  ),
);
export const UUIDS = list(plain<string>("UUID", 16, (to, value = NIL_TAG_ID) => to.uuid(value)));
/** As decimal numbers. */
export const UINT64S = list(plain<string>("UInt64", 8, (to, value = "0") => to.bigUint64(BigInt(value))));
export const UINT32 = plain<number>("UInt32", 4, (to, value = 0) => to.uint32(value));
export const NULLABLE_UINT16 = nullable(UINT16);
export const FLOAT32 = plain<number>("Float32", 4, (to, value = 0) => to.float32(value));
export const BOOL = plain<boolean>("Bool", 1, (to, value = false) => to.uint8(value ? 1 : 0));
export const IPV4 = plain<string>("IPv4", 4, (to, value = "0.0.0.0") => to.ipv4(value));
/** In milliseconds since 1970 UTC. */
export const TIME = plain<number>("DateTime64(3, 'UTC')", 8, (to, value = 0) => to.time(value));
