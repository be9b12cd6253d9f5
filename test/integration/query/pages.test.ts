import { reader } from "@noisefloor/clickhouse/client/query.ts";
import { DEFAULT_PLANS } from "@noisefloor/domain/access/plan.ts";
import { registerPages } from "@noisefloor/query/pages/route.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { networkList } from "../../support/builders/network-list.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const [NOISE, RIOT, UNKNOWN] = ["45.0.0.1", "8.8.8.8", "45.9.9.9"];
/** Texts that could run, break out of an attribute or a tag, or look like another text. */
const HOSTILE = [
  "<script>alert(1)</script>",
  "</code></title></style><img src=x onerror=alert(1)>",
  `"onmouseover="alert(2)`,
  "'onfocus='alert(3)",
  "&lt;b&gt;&amp;",
  "`alert(4)`",
  "/\u202egpj.exe\u2066\u200b",
  "bell\u0007\u0000nul",
  "<!-- --> ]]>",
];
const worm = makeTag("worm", "malicious", {
  name: "<b>Worm</b>",
  description: `</section><script src="//evil.example">`,
  references: ["javascript:alert(5)", "https://example.org/?a=1&b='\"<i>", "data:text/html,<script>"],
  cves: ["CVE-2026-0001"],
});
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([worm]);
  const dns = { name: "Some <i>DNS</i>", description: "In\nlines", reference: "https://example.org/dns" };
  await world.replaceNetworks("service", [networkList("dns", ["8.8.8.0/24"], dns)]);
  const { rejected } = await world.store([
    ...HOSTILE.map((text, n) => ({
      observed_at: new Date(NOW - n - 1).toISOString(),
      sensor_id: "s",
      source_ip: NOISE,
      destination_port: 80 + n,
      tags: ["worm"],
      http: { method: "GET", path: text, user_agent: text },
      organization: text,
      city: text,
      rdns: text,
      tls: { ja3: `j${n}` },
    })),
    // Only in the personal data of another workspace.
    { observed_at: new Date(NOW - 1).toISOString(), sensor_id: "s", source_ip: "45.0.0.2", dataset: "community" },
  ]);
  expect(rejected.length, "control characters may be rejected, nothing else").toBeLessThanOrEqual(1);
});
afterAll(() => world.close());

let callers = 0;
const nextCaller = () => `100.64.1.${callers++}`;
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const get = (url: string, { accept = BROWSER, remoteAddress = nextCaller(), headers = {} } = {}) =>
  world.app.inject({ method: "GET", url, headers: { accept, ...headers }, remoteAddress });

async function page(url: string, status = 200, options = {}) {
  const { statusCode, headers, body } = await get(url, options);
  expect([url, statusCode, headers["content-type"]]).toEqual([url, status, "text/html; charset=utf-8"]);
  expect(headers["content-security-policy"]).toMatch(
    /^default-src 'none';style-src 'sha256-[\w+/=]{44}';img-src data:;form-action 'self';base-uri 'none';frame-ancestors 'none'$/,
  );
  expect(headers).toMatchObject({ "x-frame-options": "SAMEORIGIN", "referrer-policy": "no-referrer" });
  expect(body.startsWith("<!doctype html>") && body.endsWith("</html>\n")).toBe(true);
  return { body, headers };
}

/** The tags of a page, with their attributes. */
const tagsOf = (body: string) => body.replace(/<style>[^<]*<\/style>/, "").match(/<[^>]*>/g) ?? [];
const ALLOWED =
  /^<\/?(?:!doctype html|html|head|meta|title|link|body|header|main|footer|section|h1|h2|p|a|form|input|textarea|button|span|bdi|br|dl|dt|dd|ul|li|code|pre|table|thead|tbody|tr|th|td)(?: [a-z-]+(?:="[^"<>]*")?)*>$/;

test("any text of a sensor, a tag or a list is text on the page, with invisible characters shown", async () => {
  const { body } = await page(`/ip/${NOISE}`);
  for (const tag of tagsOf(body)) expect(tag).toMatch(ALLOWED);
  for (const tag of tagsOf(body)) expect(tag).not.toMatch(/ on\w+=|javascript:|data:text/i);
  expect(body).not.toMatch(/\p{Cf}|(?!\n)\p{Cc}/u);
  expect(body).toContain("/\\u{202e}gpj.exe\\u{2066}\\u{200b}");
  expect(body).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(body).toContain("&amp;lt;b&amp;gt;&amp;amp;");
  expect(body).toContain("&quot;onmouseover=&quot;alert(2)");
  expect(body).toContain('href="https://example.org/?a=1&amp;b=%27%22%3Ci%3E"');
  expect(body).toContain("javascript:alert(5)");
  expect(body).not.toContain('href="javascript:');
});

test("the page of an address shows its record in the global dataset; that of a service shows its list", async () => {
  const { body } = await page(`/ip/${NOISE}`);
  for (const text of ["malicious", "Seen scanning", "80</code>", "&lt;b&gt;Worm&lt;/b&gt;", "CVE-2026-0001", "j1"]) {
    expect(body).toContain(text);
  }
  for (const url of [`/riot/${RIOT}`, `/ip/${RIOT}`]) {
    const { body: service } = await page(url);
    for (const text of ["benign", "Some &lt;i&gt;DNS&lt;/i&gt;", "In lines", "https://example.org/dns"]) {
      expect(service).toContain(text);
    }
  }
  await page("/ip/45.0.0.2", 404);
});

test("links in answers lead to pages", async () => {
  for (const ip of [NOISE, RIOT]) {
    const { link } = (await get(`/v3/community/${ip}`)).json<{ link: string }>();
    await page(new URL(link).pathname);
  }
  const { body } = await page("/plans");
  for (const text of ["unauthenticated", "100 for each address", "10,000 for each workspace", "90 days"]) {
    expect(body).toContain(text);
  }
});

test("the start page has links, and a lookup form that needs no script", async () => {
  const { body } = await page("/");
  for (const target of ['action="/lookup"', 'href="/docs"', 'href="/plans?plain=true"']) expect(body).toContain(target);
  const found = await get(`/lookup?ip=${encodeURIComponent(` ${NOISE}\t`)}`);
  expect([found.statusCode, found.headers.location]).toEqual([303, `/ip/${NOISE}?plain=true`]);
  for (const url of [
    "/lookup",
    "/lookup?ip=",
    "/lookup?ip=10.0.0.1",
    "/lookup?ip=%2f%2fevil.example",
    "/lookup?ip=a&ip=b",
    "/lookup?ip=2001:db8::1",
    "/lookup?ip=45.0.0.0/24",
    "/lookup?ip=ssh",
  ]) {
    expect((await get(url)).headers.location).toBeUndefined();
    await page(url, 400);
  }
});

test("pasted text works without a script, too, and several addresses have a page of their own", async () => {
  for (const text of ["45[.]0[.]0[.]1", "hxxp://45.0.0.1/x", "from mail (mail [45.0.0.1]) by mx", "45.0.0.1:22"]) {
    const { headers } = await get(`/lookup?ip=${encodeURIComponent(text)}`);
    expect([text, headers.location]).toEqual([text, `/ip/${NOISE}?plain=true`]);
  }
  const remoteAddress = nextCaller();
  const list = [NOISE, "45[.]0[.]0[.]1", RIOT, UNKNOWN, "10.0.0.1", "45.0.0.0/24", "<b>300.1.1.1"].join("\r\n");
  const { body, headers } = await page(`/lookup?ip=${encodeURIComponent(list)}`, 200, { remoteAddress });
  expect(headers["ratelimit-remaining"]).toBe("97");
  for (const tag of tagsOf(body)) expect(tag).toMatch(ALLOWED);
  const rows = [...body.matchAll(/<tr>(<td>.*?)<\/tr>/gs)].map(([, row = ""]) =>
    row
      .replace(/<[^>]*>|\n/g, "  ")
      .split(/\s{2,}/)
      .filter((cell) => cell !== ""),
  );
  expect(rows).toEqual([
    [NOISE, "malicious"],
    [RIOT, "benign"],
    [UNKNOWN, "not seen"],
    ["10.0.0.1", expect.stringContaining("not looked up: not reached over the Internet")],
    ["45.0.0.0/24", "not looked up: a network"],
    ["300.1.1.1", expect.stringContaining("not looked up: no IPv4 address")],
  ]);
  expect(body).toContain(`href="/ip/${NOISE}?plain=true"`);
});

test("a page about an address counts as a lookup like a community lookup, and its errors are pages", async () => {
  const remoteAddress = nextCaller();
  const remaining = async (url: string, status: number) =>
    (await page(url, status, { remoteAddress })).headers["ratelimit-remaining"];
  expect(await remaining(`/ip/${NOISE}`, 200)).toBe("99");
  expect(await remaining(`/riot/${RIOT}`, 200)).toBe("98");
  expect(await remaining(`/ip/${UNKNOWN}`, 404)).toBe("97");
  expect(await remaining("/ip/10.0.0.1", 400)).toBeUndefined();
  expect(await remaining("/plans", 200)).toBeUndefined();
  expect(await remaining("/", 200)).toBeUndefined();
  await world.app.inject({
    method: "POST",
    url: "/v3/ip",
    remoteAddress,
    payload: { ips: Array.from({ length: 97 }, (_, n) => `45.1.0.${n}`) },
  });
  const { body, headers } = await page(`/ip/${NOISE}`, 429, { remoteAddress });
  expect(headers["ratelimit-remaining"]).toBe("0");
  expect(body).toContain("You have hit your daily rate limit of 100 requests per day.");
  expect(body).toContain('href="/plans?plain=true"');
  expect(body).not.toContain("Worm");
  await page(`/ip/${NOISE}`, 401, { headers: { key: "made-up" } });
});

test("a program that requests a page as JSON gets the URL of the operation in JSON, at no cost", async () => {
  for (const url of ["/", "/plans", `/ip/${NOISE}`, `/riot/${RIOT}`, "/lookup?ip=x"]) {
    const { statusCode, headers, body } = await get(url, { accept: "application/json" });
    expect([statusCode, headers["content-type"]]).toEqual([406, "application/json; charset=utf-8"]);
    expect(JSON.parse(body)).toEqual({ message: expect.stringContaining("/v3/community/{ip}") });
    expect(headers["ratelimit-remaining"]).toBeUndefined();
    expect((await get(url, { accept: "*/*" })).statusCode).toBe(406);
    await page(url, url.startsWith("/lookup") ? 400 : 200);
    const wrong = await world.app.inject({ method: "POST", url });
    expect([wrong.statusCode, wrong.headers.allow]).toEqual([405, "GET"]);
  }
});

test("crawlers are asked to stay away, for each page of an address is a lookup", async () => {
  const { statusCode, headers, body } = await world.app.inject("/robots.txt");
  expect([statusCode, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(body).toBe("User-agent: *\nDisallow: /\n");
  expect((await world.app.inject({ method: "POST", url: "/robots.txt" })).statusCode).toBe(405);
});

test("behind a proxy that adds a prefix to paths, every link and the form stay under the public URL", async () => {
  const app = await makeApp([], (made) =>
    registerPages(made, {
      read: reader(world.client, { maxSeconds: 60 }),
      catalogue: world.catalogue,
      networks: world.networks,
      authenticate: () => ({ plan: "unlimited", entitlements: new Set(), limits: { reach_days: 90 } }),
      countLookups: (_asked, lookUp) => lookUp(),
      plans: DEFAULT_PLANS,
      publicUrl: "https://example.org/scan/noise/",
      retentionDays: () => RETENTION_DAYS,
      now: () => NOW,
    }),
  );
  onTestFinished(() => app.close());
  const headers = { accept: BROWSER };
  for (const url of ["/", "/plans", `/ip/${NOISE}`, `/ip/${UNKNOWN}`]) {
    const { body } = await app.inject({ method: "GET", url, headers });
    const links = [...body.matchAll(/(?:href|action)="(?!https:|data:)([^"]*)"/g)].map(([, target]) => target);
    expect(links.length).toBeGreaterThan(3);
    for (const link of links) expect(link).toMatch(/^\/scan\/noise\/\w*/);
  }
  const found = await app.inject({ method: "GET", url: `/lookup?ip=${NOISE}`, headers });
  expect(found.headers.location).toBe(`/scan/noise/ip/${NOISE}?plain=true`);
});
