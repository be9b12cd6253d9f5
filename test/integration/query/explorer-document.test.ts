import { gunzipSync } from "node:zlib";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { EXPLORER_SECURITY_POLICY, readExplorer } from "@noisefloor/query/pages/explorer.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { builtExplorer } from "../../support/servers/on-demand.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const explorer = readExplorer(await builtExplorer());
let world: World;
let app: FastifyInstance;
let url: string;

beforeAll(async () => {
  world = await createWorld(Date.now);
  app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics, { explorer }));
  url = await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await app.close();
  await world.close();
});

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test("HTML goes to those who ask for it, also for unknown paths, and JSON to all others", async () => {
  for (const [path, status] of [
    ["/", 200],
    ["/ip/45.0.0.1", 200],
    ["/tags/worm", 200],
    ["/nowhere", 404],
  ] as const) {
    const page = await fetch(`${url}${path}`, { headers: { accept: BROWSER } });
    expect([path, page.status, page.headers.get("content-type")]).toEqual([path, status, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toBe(EXPLORER_SECURITY_POLICY);
    expect(page.headers.get("referrer-policy")).toBe("no-referrer");
    expect(page.headers.has("ratelimit-remaining")).toBe(false);
    for (const accept of ["application/json", "*/*", "text/html;q=0, */*"]) {
      const other = await fetch(`${url}${path}`, { headers: { accept } });
      expect([path, other.status]).toEqual([path, status === 404 ? 404 : 406]);
      expect(await other.json()).toEqual({ message: expect.any(String) });
    }
  }
  const api = await fetch(`${url}/v3/nowhere`, { headers: { accept: BROWSER } });
  expect([api.status, await api.json()]).toEqual([404, { message: "Not found" }]);
});

test("without JavaScript every page says that it needs it, and what answers without", async () => {
  for (const path of ["/", "/plans", "/tags/worm"]) {
    const page = await fetch(`${url}${path}`, { headers: { accept: BROWSER } });
    const [, line] = (await page.text()).match(/<noscript>(.*)<\/noscript>/) ?? [];
    expect([path, line]).toEqual([path, expect.stringMatching(/need JavaScript.*\/v3\/community\//)]);
  }
});

test("links in answers lead to pages", async () => {
  await world.store([{ observed_at: new Date(Date.now() - 1).toISOString(), sensor_id: "s", source_ip: "45.0.0.1" }]);
  const community = await app.inject("/v3/community/45.0.0.1");
  const { link } = community.json<{ link: string }>();
  for (const path of [new URL(link).pathname, "/plans"]) {
    const page = await fetch(`${url}${path}`, { headers: { accept: BROWSER } });
    expect([path, page.status]).toEqual([path, 200]);
  }
});

test("a program that requests a page as JSON gets the URL of the operation in JSON, at no cost", async () => {
  for (const path of ["/", "/plans", "/ip/45.0.0.1", "/riot/8.8.8.8"]) {
    const { statusCode, headers, body } = await app.inject({ url: path, headers: { accept: "application/json" } });
    expect([statusCode, headers["content-type"]]).toEqual([406, "application/json; charset=utf-8"]);
    expect(JSON.parse(body)).toEqual({ message: expect.stringContaining("/v3/community/{ip}") });
    expect(headers["ratelimit-remaining"]).toBeUndefined();
    const wrong = await app.inject({ method: "POST", url: path });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, "GET"]);
  }
});

test("crawlers are asked to stay away, for each page of an address is a lookup", async () => {
  const { statusCode, headers, body } = await app.inject("/robots.txt");
  expect([statusCode, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(body).toBe("User-agent: *\nDisallow: /\n");
  expect((await app.inject({ method: "POST", url: "/robots.txt" })).statusCode).toBe(405);
});

test("the first load is one script and one style sheet, together under 150 KB", async () => {
  const document = await (await fetch(url, { headers: { accept: BROWSER } })).text();
  const files = [...document.matchAll(/(?:src|href)="(\/[^"]*)"/g)].flatMap(([, file]) => file ?? []);
  expect(files.map((file) => file.split(".").at(-1)).sort()).toEqual(["css", "js"]);
  let bytes = document.length;
  for (const file of files) {
    const { headers, rawPayload } = await app.inject({ url: file, headers: { "accept-encoding": "br, gzip" } });
    expect([file, headers["content-encoding"]]).toEqual([file, "gzip"]);
    const plain = await app.inject({ url: file });
    expect([plain.headers["content-encoding"], plain.rawPayload.equals(gunzipSync(rawPayload))]).toEqual([
      undefined,
      true,
    ]);
    const { etag } = plain.headers;
    expect([file, headers.etag]).toEqual([file, expect.stringMatching(/^W\/"/)]);
    expect(headers.etag).toBe(etag);
    const again = await app.inject({
      url: file,
      headers: { "accept-encoding": "gzip", "if-none-match": String(etag) },
    });
    expect([file, again.statusCode, again.body]).toEqual([file, 304, ""]);
    const refusing = await app.inject({ url: file, headers: { "accept-encoding": "gzip;q=0" } });
    expect([file, refusing.headers["content-encoding"]]).toEqual([file, undefined]);
    bytes += rawPayload.length;
  }
  expect(bytes).toBeLessThan(150_000);
});

test("behind a proxy that adds a prefix to paths, the document and its links stay under the public URL", async () => {
  const publicUrl = "https://example.org/scan/noise/";
  const prefixed = await makeApp(QUERY_OPERATIONS, (made, metrics) =>
    world.register(made, metrics, { explorer, publicUrl }),
  );
  onTestFinished(() => prefixed.close());
  const { body } = await prefixed.inject({ url: "/tags", headers: { accept: BROWSER } });
  expect(body).toContain('data-base="/scan/noise"');
  expect(body).toContain('data-public-url="https://example.org/scan/noise"');
  const links = [...body.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, link]) => link);
  expect(links).toHaveLength(2);
  for (const link of links) expect(link).toMatch(/^\/scan\/noise\/assets\//);
});
