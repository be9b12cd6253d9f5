import { once } from "node:events";
import { createServer } from "node:http";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import getPort from "get-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { runInProcess } from "../../support/worlds/in-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const now = Date.now();
/** More than one page of the API. */
const MANY = 10_010;
let world: World;
let url: string;
let key: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("mirai", "malicious"), makeTag("ssh", "suspicious")]);
  const seen = { destination_port: 23, transport: "tcp", tags: ["mirai", "ssh"], country: "DE", asn: 64_500 };
  await world.store([
    observation("45.0.0.1", now - 60_000, { ...seen, organization: '=HYPERLINK("x"), AG' }),
    observation("45.0.0.2", now - 5 * DAY, { ...seen, organization: "Two\u001b[2J" }),
    observation("45.0.0.3", now - 20 * DAY, { destination_port: 22 }),
  ]);
  await world.store(
    Array.from({ length: MANY }, (_, n) =>
      observation(`46.0.${n >> 8}.${n & 255}`, now - DAY, { destination_port: 80 }),
    ),
  );
  key = await world.addCaller("unlimited", []);
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics));
  url = await app.listen({ host: "127.0.0.1", port: 0 });
  stop = () => app.close();
});
afterAll(async () => {
  await stop?.();
  await world?.close();
});

const search = (...args: string[]) => runInProcess(["search", ...args, "--url", url], { QUERY_KEY: key });
const lines = (text: string) => text.split("\n").slice(0, -1);

test("a search prints a table of the first matches and how many there are, whatever is in them", async () => {
  const { code, stdout } = await search("tags:mirai", "port:23");
  expect(code).toBe(0);
  const [head, first, second, ...rest] = lines(stdout);
  expect(head).toMatch(/^address +classification +last_seen +tags +country +organization$/);
  expect(first).toMatch(/^45\.0\.0\.1 +malicious +\d{4}-\d\d-\d\d \d\d:\d\d +mirai ssh +DE +=HYPERLINK/);
  expect(second).toContain("Two\\u{1b}[2J");
  expect(rest).toEqual(["2 addresses match."]);
  expect(lines((await search("port:80")).stdout)).toHaveLength(1 + 25 + 1);
  expect((await search("--limit", "2", "port:80")).stdout).toContain(`\n${MANY} addresses match; these are 2: `);
  expect((await search("port:81")).stdout).toBe("No address matches.\n");
});

test("--count and --stats are the numbers of the API, with --days of that time, and as JSON its answers", async () => {
  expect((await search("--count", "tags:mirai")).stdout).toBe("2\n");
  expect((await search("--count", "--days", "2", "tags:mirai")).stdout).toBe("1\n");
  const answer = async (path: string) => (await world.get(path, { key })).body;
  expect(JSON.parse((await search("--count", "--json", "tags:mirai")).stdout)).toEqual(
    await answer("/v3/gnql/count?query=tags:mirai"),
  );
  expect(JSON.parse((await search("--stats", "--json", "--limit", "7", "tags:mirai")).stdout)).toEqual(
    await answer("/v3/gnql/stats?query=tags:mirai&count=7"),
  );
  const { stdout } = await search("--stats", "tags:mirai");
  expect(stdout).toMatch(
    /^2 addresses match\.\n\nclassification {2}addresses\nmalicious +2\n\ntag +addresses\nmirai +2\n/,
  );
});

test("--json is each match once as the API has it, over all pages, and --limit asks for no more than that", async () => {
  const { stdout } = await search("--json", "tags:mirai");
  const { body } = await world.get("/v3/gnql?query=tags:mirai", { key });
  expect(lines(stdout).map((line): unknown => JSON.parse(line))).toEqual(Object(body).data);
  const all = lines((await search("--csv", "port:80")).stdout).map((line) => line.split(",")[0]);
  expect(all).toEqual(["ip", ...Array.from({ length: MANY }, (_, n) => `46.0.${n >> 8}.${n & 255}`)]);
  const limited = await world.addCaller("basic", []);
  const left = async () => Object((await world.get("/v3/plans", { key: limited })).body).caller.lookups_left;
  const before = await left();
  expect(lines((await search("--csv", "--limit", "30", "--key", limited, "port:80")).stdout)).toHaveLength(31);
  expect(before - (await left())).toBe(30);
});

test("--csv is the CSV of the API but for first_seen, which is a day, with nothing that a spreadsheet would run", async () => {
  const { stdout } = await search("--csv", "tags:mirai");
  const [head, first] = lines(stdout);
  expect(head).toBe("ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable");
  const time = `${new Date(now - 60_000).toISOString().slice(0, 19)}Z`;
  expect(first).toBe(
    `45.0.0.1,${time.slice(0, 10)},${time},malicious,mirai ssh,AS64500,"'=HYPERLINK(""x""), AG",DE,true`,
  );
  const response = await fetch(`${url}/v3/gnql?query=tags:mirai&format=csv`, { headers: { key } });
  const withDay = (line: string) => line.replace(/^([^,]+,\d{4}-\d\d-\d\d)T[^,]+/, "$1");
  expect(lines(stdout)).toEqual(lines((await response.text()).replaceAll("\r\n", "\n")).map(withDay));
});

test("--csv escapes control characters on a terminal alone", async () => {
  const words = ["search", "--csv", "tags:mirai", "--url", url];
  const shown = await runInProcess(words, { QUERY_KEY: key }, { isTerminal: true });
  expect(lines(shown.stdout)[2]).toMatch(/,Two\\u\{1b\}\[2J,DE,true$/);
  expect(lines((await search("--csv", "tags:mirai")).stdout)[2]).toContain(",Two\u001b[2J,");
});

test("a redirect is not followed, so that no other service gets the key, and the error names where it leads", async () => {
  const asked: (string | undefined)[] = [];
  const other = createServer(({ url: path }, response) => {
    asked.push(path);
    response.writeHead(307, { location: "/elsewhere?query=port:22" }).end();
  });
  const port = await getPort();
  await once(other.listen(port, "127.0.0.1"), "listening");
  const redirecting = `http://127.0.0.1:${port}`;
  const { code, stderr } = await runInProcess(["search", "--count", "port:22", "--url", redirecting], {
    QUERY_KEY: key,
  });
  other.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    `noisefloor: ${redirecting} redirects to /elsewhere?query=port:22: --url or QUERY_URL takes where it leads\n`,
  );
  expect(asked).toEqual(["/v3/gnql/count?query=port%3A22"]);
});

test("a wrong query ends with exit code 1 and the error below its place", async () => {
  const { code, stdout, stderr } = await search("--json", "port:22 clasification:malicious");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toBe(
    [
      "noisefloor: the query cannot be run",
      "  port:22 clasification:malicious",
      "          ^^^^^^^^^^^^^",
      '  no field is called "clasification". Did you mean "classification"?',
      "",
    ].join("\n"),
  );
});

test("a service that does not answer, a key that it does not know and what is no service are named, with what to do", async () => {
  const failureOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await runInProcess(["search", "port:22", ...args], {});
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    return stderr;
  };
  const nobody = `http://127.0.0.1:${await getPort()}`;
  expect(await failureOf("--url", nobody)).toMatch(
    /^noisefloor: no query service answers at http:\S+ \(.*ECONNREFUSED.*\): --url or QUERY_URL names another\n$/,
  );
  expect(await failureOf("--url", "example.org")).toContain(
    '--url takes a URL like http://localhost:8080, not "example.org"',
  );
  expect(await failureOf("--url", url, "--key", "nf_wrong")).toContain(" answered 401: ");
  expect(await failureOf("--url", `${url}/elsewhere`)).toContain(" answered 404: ");
});
