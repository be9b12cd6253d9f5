import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import type { Call } from "./operations.ts";

const run = promisify(execFile);

/** Has the generators, with a compiler of their own. */
const GENERATORS = fileURLToPath(new URL("../../generators/node_modules", import.meta.url));
/** The compiler of this repository, which is the faster one. */
const COMPILER = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));
const bin = (name: string) => join(GENERATORS, ".bin", name);

/** Where the clients call, and with which keys. */
export type Target = {
  readonly url: string;
  readonly key: string;
  readonly sensorKey: string;
  /** The UUID of an analysis that the key may read. */
  readonly analysis: string;
};

/** How a generator's client is called. */
export type Generator = {
  /** Writes the client into the folder. */
  generate(document: string, folder: string): Promise<unknown>;
  /** TypeScript that makes a client called `name`. */
  readonly imports: string;
  makeClient(name: string, url: string, key: string): string;
  /** An expression for the promise of a call's `{ response, data }`. */
  call(call: Call, client: string): string;
};

const literal = (value: unknown) => JSON.stringify(value);

function options(members: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(members).filter(([, value]) => value !== undefined && value !== "{}");
  return `{ ${given.map(([name, value]) => `${name}: ${value}`).join(", ")} }`;
}

/** `getCommunityIP` as hey-api names it: `getCommunityIp`. */
const camelCase = (id: string) =>
  id.replace(/[A-Z]+(?=[A-Z][a-z]|$)/g, (word) => word[0] + word.slice(1).toLowerCase());

const HEY_API_BODIES: Readonly<Record<string, (literal: string) => string>> = {
  "application/octet-stream": (literal) => `new Blob([${literal}])`,
  "multipart/form-data": (literal) => `{ file: new Blob([${literal}.file]) }`,
};
const OPENAPI_FETCH_BODIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "application/octet-stream": {
    bodySerializer: "(body) => body",
    headers: '{ "content-type": "application/octet-stream" }',
  },
  "multipart/form-data": {
    bodySerializer:
      '(body) => { const form = new FormData(); form.append("file", new Blob([body.file])); return form; }',
  },
};

export const heyApi: Generator = {
  generate: (document, folder) =>
    run(bin("openapi-ts"), ["-i", document, "-o", join(folder, "client"), "-c", "@hey-api/client-fetch"]),
  imports:
    'import * as sdk from "./client/index.js";\nimport { createClient, createConfig } from "./client/client/index.js";',
  makeClient: (name, url, key) =>
    `const ${name} = createClient(createConfig({ baseUrl: ${literal(url)}, auth: ${literal(key)} }));`,
  call: ({ id, pathParameters, query, body, bodyType }, client) =>
    `sdk.${camelCase(id)}(${options({
      client,
      path: literal(pathParameters),
      query: literal(query),
      body: body === undefined ? undefined : (HEY_API_BODIES[bodyType]?.(literal(body)) ?? literal(body)),
    })})`,
};

export const openapiTypescript: Generator = {
  generate: (document, folder) => run(bin("openapi-typescript"), [document, "-o", join(folder, "schema.ts")]),
  imports: 'import createClient from "openapi-fetch";\nimport type { paths } from "./schema.js";',
  makeClient: (name, url, key) =>
    `const ${name} = createClient<paths>({ baseUrl: ${literal(url)}, headers: { authorization: ${literal(`Bearer ${key}`)} } });`,
  call: ({ method, path, pathParameters, query, body, bodyType, isText }, client) =>
    `${client}.${method.toUpperCase()}(${literal(path)}, ${options({
      params: options({ path: literal(pathParameters), query: literal(query) }),
      body: body === undefined ? undefined : literal(body),
      ...OPENAPI_FETCH_BODIES[bodyType],
      // It takes every answer for JSON.
      parseAs: isText ? '"text"' : undefined,
    })})`,
};

const answerSchema = z.object({ response: z.object({ status: z.int() }), data: z.unknown().optional() });
const moduleSchema = z.object({
  calls: z.record(
    z.string(),
    z.custom<() => Promise<unknown>>((call) => typeof call === "function"),
  ),
});

/**
 * Generates a client, compiles it with a strict call of each operation, and calls them all.
 * @returns the status and the body of each answer, by operation.
 */
export async function callEveryOperation(
  { generate, imports, makeClient, call }: Generator,
  { document, calls }: { readonly document: unknown; readonly calls: readonly Call[] },
  { url, key, sensorKey }: Target,
): Promise<ReadonlyMap<string, z.infer<typeof answerSchema>>> {
  // Below the packages, so that the client finds what it imports.
  const folder = await mkdtemp(join(GENERATORS, ".generated-"));
  try {
    const described = join(folder, "openapi.json");
    await writeFile(described, JSON.stringify(document));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(COMPILER_OPTIONS));
    await mkdir(join(folder, "client"));
    await generate(described, folder);
    const source = [
      imports,
      makeClient("query", url, key),
      makeClient("intake", url, sensorKey),
      "export const calls = {",
      ...calls.map((one) => `  ${one.id}: () => ${call(one, one.isIntake ? "intake" : "query")},`),
      "};",
    ];
    await writeFile(join(folder, "calls.ts"), source.join("\n"));
    await compile(folder);
    const loaded: unknown = await import(/* @vite-ignore */ pathToFileURL(join(folder, "compiled/calls.js")).href);
    const answers = new Map<string, z.infer<typeof answerSchema>>();
    for (const [id, ask] of Object.entries(moduleSchema.parse(loaded).calls))
      answers.set(id, answerSchema.parse(await ask()));
    return answers;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const COMPILER_OPTIONS = {
  compilerOptions: {
    ...{ target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext", lib: ["ES2023", "DOM", "DOM.Iterable"] },
    ...{ strict: true, skipLibCheck: true, types: [], outDir: "compiled", rootDir: "." },
  },
  include: ["**/*.ts"],
};

/** @throws with the compiler's own words, which it prints to standard output. */
async function compile(folder: string): Promise<void> {
  await run(COMPILER, ["-p", folder]).catch((error: unknown) => {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    throw new Error(`the client does not compile: ${output.slice(0, 4_000)}`, { cause: error });
  });
}
