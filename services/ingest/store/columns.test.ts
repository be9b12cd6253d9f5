import { TABLES } from "@noisefloor/domain/observation/members.ts";
import { expect, test } from "vitest";
import { ENCODED_COLUMNS } from "./columns.ts";

test("every member of an observation is stored, once", () => {
  const members = TABLES.flatMap(([prefix, table]) => Object.keys(table).map((name) => prefix + name));
  const besides = ["format", "session_parts", "rule_tags", "shared_tags", "http_body_head", "http_body_sha256"];
  const stored = members.filter((name) => name !== "http_body");
  expect(ENCODED_COLUMNS.toSorted()).toEqual([...stored, ...besides].toSorted());
});
