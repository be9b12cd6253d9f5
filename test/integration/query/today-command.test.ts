import { text } from "node:stream/consumers";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { runInProcess } from "../../support/worlds/in-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.parse("2026-11-20T14:30:00Z");
const HOSTILE = "/x\u001b[2J\n\nhttp://evil.example/";
let world: World;
let url: string;
let key: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  world = await createWorld(() => NOW);
  await world.addTags([makeTag("fresh", "malicious", { name: "Fresh One" })]);
  await world.store([
    observation("45.0.0.0", NOW - 2 * DAY),
    ...[1, 2, 3].map((n) => observation(`45.0.0.${n}`, NOW - HOUR, { tags: ["fresh"], http: { path: HOSTILE } })),
  ]);
  key = await world.addCaller("unlimited", []);
  await world.post("/v3/guard", { network: "45.0.0.2/32", note: "the office" }, { key });
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics));
  url = await app.listen({ host: "127.0.0.1", port: 0 });
  stop = () => app.close();
});
afterAll(async () => {
  await stop?.();
  await world?.close();
});

const today = (args: readonly string[], env: Record<string, string> = {}) =>
  runInProcess(["today", ...args, "--url", url], { QUERY_KEY: key, ...env });

test("the command prints what is new with the link to each search, what asks for action first", async () => {
  const { code, stdout } = await today([]);
  expect(code).toBe(0);
  const { body } = await world.get("/v3/today", { key });
  const search = z.object({ search: z.object({ link: z.string() }) });
  const linkOf = (list: unknown) => search.parse(Object(list).entries[0]).search.link;
  const { addresses, own_addresses, new_tags, new_paths } = Object(body);
  expect(stdout.trimEnd().split("\n")).toEqual([
    "What is new since yesterday: 2026-11-19 15:00 to 2026-11-20 15:00 UTC",
    "",
    "3 addresses were seen, 3 of them never before.",
    `  ${addresses.new.search.link}`,
    "",
    "Own addresses that scan: 1",
    "  45.0.0.2, malicious, of 45.0.0.2/32 (the office), last seen 2026-11-20 13:30",
    `    ${linkOf(own_addresses)}`,
    "",
    "New tags: 1",
    "  Fresh One: 3 addresses",
    `    ${linkOf(new_tags)}`,
    "",
    "New HTTP paths: 1",
    "  /x\\u{1b}[2j\\u{a}\\u{a}http://evil.example/: 3 addresses",
    `    ${linkOf(new_paths)}`,
    "",
    "None: silent sensors, changed feeds, events of watches, rising tags, new CVEs.",
  ]);
  expect(JSON.parse((await today(["--json"])).stdout)).toEqual(body);
});

test("with --to the same is a mail of plain text, in which what attackers wrote is no link", async () => {
  const mails: { readonly to: readonly string[]; readonly raw: string }[] = [];
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"], logger: false },
    onData(stream, { envelope: { rcptTo } }, callback) {
      text(stream).then((raw) => {
        mails.push({ to: rcptTo.map(({ address }) => address), raw });
        callback(null, "2.0.0 taken");
      }, callback);
    },
  });
  const listening = server.listen(0, "127.0.0.1");
  await new Promise((settle) => listening.once("listening", settle));
  onTestFinished(() => new Promise<void>((settle) => server.close(settle)));
  const { port } = z.object({ port: z.int() }).parse(listening.address());
  const settings = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: "noise@example.org" };
  const sent = await today(["--to", "soc@example.org", "night@example.org"], settings);
  expect([sent.code, sent.stdout]).toEqual([
    0,
    expect.stringMatching(/^sent to soc@example\.org, night@example\.org: .*taken\n$/),
  ]);
  const [mail, ...others] = mails;
  expect([mail?.to, others]).toEqual([["soc@example.org", "night@example.org"], []]);
  const read = await simpleParser(mail?.raw ?? "");
  expect([read.subject, read.html]).toEqual(["Noisefloor: 1 own address that scans, 1 new tag, 1 new path", false]);
  expect(read.text).toContain("  /x\\u{1b}[2j\\u{a}\\u{a}http[:]//evil[.]example/: 3 addresses\n");
  for (const link of read.text?.match(/\w+:\/\/\S+/g) ?? [])
    expect(link).toMatch(/^http:\/\/noisefloor\.test\/search\?/);

  await new Promise<void>((settle) => server.close(settle));
  const unsent = await today(["--to", "soc@example.org"], settings);
  expect([unsent.code, unsent.stderr]).toEqual([
    1,
    expect.stringMatching(/^noisefloor: the mail was not sent: .*ECONNREFUSED/),
  ]);
  const without = await today(["--to", "soc@example.org"]);
  expect([without.code, without.stderr]).toEqual([1, "noisefloor: a mail needs the settings SMTP_URL and MAIL_FROM\n"]);
});
