import { ClickHouseError } from "@clickhouse/client";
import { expect, test } from "vitest";
import { explainMissingRight, failureKind, isTooMuchAtOnce, withoutValues } from "./errors.ts";

const DENIED = "reader: Not enough privileges. To execute this query, it's necessary to have the grant";

test.each([
  [`${DENIED} CREATE DATABASE ON scans.*. `, "the right CREATE DATABASE ON scans.*:"],
  [
    `${DENIED} SELECT(version, name) ON scans.schema_migrations`,
    "the right SELECT(version, name) ON scans.schema_migrations:",
  ],
  [`${DENIED} INSERT(a) ON scans.tags. (ACCESS_DENIED) (version 26.1)`, "the right INSERT(a) ON scans.tags:"],
  ["reader: Access denied", "a right (reader: Access denied):"],
])("the error for a right that a user lacks says what to do: %s", (message, right) => {
  const explained = explainMissingRight(new ClickHouseError({ message, code: "497", type: "ACCESS_DENIED" }));
  expect(explained?.message).toBe(
    `ClickHouse's user lacks ${right} grant it, or set CLICKHOUSE_USER to a user who has it`,
  );
});

test("the error for a rejected password names the variables to check", () => {
  const error = new ClickHouseError({
    message: "x: Authentication failed",
    code: "516",
    type: "AUTHENTICATION_FAILED",
  });
  expect(explainMissingRight(error)?.message).toContain("check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD");
});

test.each([
  ["427", "CANNOT_COMPILE_REGEXP", "cannot compile re2: (?:^|x)secret(?:$|x), error: pattern too large"],
  ["62", "SYNTAX_ERROR", "Syntax error: failed at position 9: SELECT 'secret'"],
  ["241", "MEMORY_LIMIT_EXCEEDED", "Memory limit exceeded: In scope SELECT * FROM t WHERE path = 'secret'"],
])("an error of a query, code %s, reaches no log with what the query asked for", (code, type, message) => {
  const error = withoutValues(new ClickHouseError({ code, type, message }), "search-count");
  expect(error).toMatchObject({ code, type, message: expect.stringContaining("search-count") });
  expect(String(error)).not.toContain("secret");
});

test("an error that says what is exhausted, missing or forbidden keeps its message", () => {
  const exhausted = "Query memory limit exceeded: would use 10.00 GiB, maximum: 9.00 GiB";
  for (const [code, message] of [
    ["241", exhausted],
    ["60", "Table noisefloor.tags does not exist"],
  ] as const) {
    expect(withoutValues(new ClickHouseError({ code, type: "x", message }), "tags")).toMatchObject({ message });
  }
});

test("other errors are not about rights", () => {
  expect(explainMissingRight(new ClickHouseError({ message: "Memory limit", code: "241", type: "x" }))).toBeUndefined();
  expect(explainMissingRight(new Error("Not enough privileges"))).toBeUndefined();
});

test.each([
  "<html><head><title>502 Bad Gateway</title></head>",
  "<html><body><h1>503 Service Unavailable</h1>",
  "upstream connect error or disconnect/reset before headers",
  "upstream request timeout",
  "Timeout error.",
])("a proxy's response for a server that is down is transient: %s", (message) => {
  expect(failureKind(new Error(message))).toBe("transient");
});

test("a server that was lost in the middle of an answer is transient, and what a sender wrote about one is not", () => {
  const lost = "Attempt to read after eof: while receiving packet from 127.0.0.2:9000, local address: 127.0.0.1:1";
  expect(failureKind(new ClickHouseError({ message: lost, code: "32", type: "x" }))).toBe("transient");
  expect(failureKind(new ClickHouseError({ message: "Attempt to read after eof", code: "32", type: "x" }))).toBe(
    "unknown",
  );
  const quoted = "Cannot parse input: expected '\"' before: 'while receiving packet from'";
  expect(failureKind(new ClickHouseError({ message: quoted, code: "27", type: "x" }))).toBe("data");
});

test("an error of our own is not transient, whatever its message", () => {
  expect(failureKind(new TypeError("503"))).toBe("unknown");
  expect(failureKind(new RangeError("Invalid string length"))).toBe("unknown");
  expect(failureKind(new Error("row 15032 is wrong"))).toBe("unknown");
});

test.each([
  ["DEADLOCK_AVOIDED", "473"],
  ["TABLE_IS_BEING_RESTARTED", "733"],
  ["QUERY_WAS_CANCELLED_BY_CLIENT", "735"],
  ["CANNOT_OPEN_FILE", "76"],
  ["CANNOT_READ_FROM_FILE_DESCRIPTOR", "74"],
  ["RECEIVED_ERROR_TOO_MANY_REQUESTS", "364"],
  ["AZURE_BLOB_STORAGE_ERROR", "500"],
  ["DISTRIBUTED_TOO_MANY_PENDING_BYTES", "574"],
  ["USER_SESSION_LIMIT_EXCEEDED", "700"],
  ["TCP_CONNECTION_LIMIT_REACHED", "749"],
  ["HTTP_CONNECTION_LIMIT_REACHED", "762"],
  ["RESOURCE_LIMIT_EXCEEDED", "776"],
  ["MEMORY_RESERVATION_KILLED", "777"],
])("an error that passes by itself, or that a restart would not help, is transient: %s", (type, code) => {
  const error = new ClickHouseError({ message: "x", code, type });
  expect([failureKind(error), isTooMuchAtOnce(error)]).toEqual(["transient", false]);
});

test.each([
  [new ClickHouseError({ message: "x", code: "159", type: "TIMEOUT_EXCEEDED" }), true],
  [new ClickHouseError({ message: "x", code: "241", type: "MEMORY_LIMIT_EXCEEDED" }), true],
  [new Error("Timeout error."), true],
  [new Error("<html><head><title>504 Gateway Time-out</title></head>"), true],
  [new Error("upstream request timeout"), true],
  [new Error("<html><head><title>502 Bad Gateway</title></head>"), false],
  [Object.assign(new Error("connect ETIMEDOUT 10.0.0.1:8123"), { code: "ETIMEDOUT" }), false],
  [new ClickHouseError({ message: "504", code: "252", type: "TOO_MANY_PARTS" }), false],
])("some transient errors may pass for a smaller request: %s", (error, isTooMuch) => {
  expect([failureKind(error), isTooMuchAtOnce(error)]).toEqual(["transient", isTooMuch]);
});
