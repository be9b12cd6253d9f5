import { hash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openCalledWorld } from "../support/clients/called-world.ts";
import { describedInterface } from "../support/clients/operations.ts";
import { callEveryOperationInPython } from "../support/clients/python.ts";
import { callEveryOperation, heyApi, openapiTypescript } from "../support/clients/typescript.ts";
import { expectDescribed } from "../support/oracle/description.ts";
import { testInFull } from "../support/test-in-full.ts";
import { atVolume, IS_FULL } from "../support/volume.ts";

/** A hash of the description for which clients were made last; UPDATE_DOCS=1 makes them, and writes it. */
const HASH_FILE = fileURLToPath(new URL("generated-clients.sha256", import.meta.url));
const hashOfDescription = hash("sha256", JSON.stringify(describedInterface(0, "").document));

async function openWorld() {
  const world = await openCalledWorld(Date.now);
  onTestFinished(() => world.close());
  await world.makeExamples();
  return { world, described: describedInterface(Date.now(), world.analysis) };
}

/** On every commit the last alone, which generates nothing but types. */
const GENERATORS = [["@hey-api/openapi-ts", heyApi] as const, ["openapi-typescript", openapiTypescript] as const];

test.each(atVolume(GENERATORS.slice(1), GENERATORS))(
  "%s makes a client that compiles and in which every operation is answered",
  async (_, generator) => {
    const isMade = (await readFile(HASH_FILE, "utf8")).trim() === hashOfDescription;
    if (isMade && !IS_FULL) return;
    const { world, described } = await openWorld();
    const answers = await callEveryOperation(generator, described, world);
    expect([...answers.keys()]).toEqual(described.calls.map(({ id }) => id));
    for (const { id, method, path, status } of described.calls) {
      const answer = answers.get(id);
      expect([id, answer?.response.status]).toEqual([id, status]);
      if (status !== 204) expectDescribed(method, path, status, answer?.data);
    }
    if (process.env.UPDATE_DOCS) await writeFile(HASH_FILE, `${hashOfDescription}\n`);
  },
);

// Needs Python 3.11 and its packages. On every commit the next test asks for what this generator needs.
testInFull(
  "openapi-python-client makes a client without a warning, in which every operation is answered",
  {
    timeout: 600_000,
  },
  async () => {
    const { world, described } = await openWorld();
    const answers = await callEveryOperationInPython(described, world);
    for (const { id, status } of described.calls) {
      expect([id, answers[id]?.status, answers[id]?.isParsed]).toEqual([id, status, status !== 204]);
    }
  },
);

const described = describedInterface(0, "");

test("the names of operations are words, also where a generator splits them at capitals", () => {
  for (const { id } of described.calls) {
    // As openapi-python-client does it: getIPs would become get_i_ps.
    const words = id.replace(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$2_").toLowerCase();
    for (const word of words.split("_")) expect([id, word.length > 1]).toEqual([id, true]);
  }
});

type Node = Readonly<Record<string, unknown>>;
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;

/** Every schema of the description, with where it stands. */
function* nodesOf(value: unknown, path: readonly string[] = []): Generator<{ path: readonly string[]; node: Node }> {
  if (!isNode(value)) return;
  yield { path, node: value };
  for (const [name, member] of Object.entries(value)) {
    if (name !== "example") yield* nodesOf(member, [...path, name]);
  }
}

test("no generator has to invent names for the objects between which an answer chooses, and each has a name of its own", () => {
  for (const { path, node } of nodesOf(described.document)) {
    const choices = [node.anyOf, node.oneOf].flatMap((some) => (Array.isArray(some) ? some.filter(isNode) : []));
    const nameless = choices.filter((choice) => isNode(choice.properties) && Object.keys(choice.properties).length > 0);
    expect([path.join("/"), nameless.length]).toEqual([path.join("/"), 0]);
  }
  const titles = [...nodesOf(described.document)].flatMap(({ node }) =>
    typeof node.title === "string" ? node.title : [],
  );
  expect(titles).toEqual([...new Set(titles)]);
});

test("every body is JSON, bytes or a form, and of one kind, as generators know no others", () => {
  for (const { path, node } of nodesOf(described.document)) {
    if (path.at(-1) !== "requestBody") continue;
    const kinds = Object.keys(isNode(node.content) ? node.content : {});
    expect([path, kinds.length]).toEqual([path, 1]);
    expect(["application/json", "application/octet-stream", "multipart/form-data"]).toContain(kinds[0]);
  }
  const others = described.calls.filter(({ body, bodyType }) => body !== undefined && bodyType !== "application/json");
  expect(others.map(({ path, bodyType }) => [path, bodyType])).toEqual([
    ["/v2/analyze/upload", "multipart/form-data"],
    ["/v1/observations/lines", "application/octet-stream"],
    ...["/_bulk", "/_bulk", "/{index}/_bulk", "/{index}/_bulk", "/{index}/_doc"].map((path) => [
      path,
      "application/octet-stream",
    ]),
  ]);
});
