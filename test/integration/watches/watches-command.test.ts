import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { startHttpReceiver } from "../../support/watches/http-receiver.ts";
import { openCommandLine } from "../../support/worlds/command-line.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { runInProcess } from "../../support/worlds/in-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let world: World;
let url: string;
let key: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  world = await createWorld(Date.now);
  await world.addTags([makeTag("mirai", "malicious")]);
  key = await world.addCaller("unlimited");
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics));
  url = await app.listen({ host: "127.0.0.1", port: 0 });
  stop = () => app.close();
});
afterAll(async () => {
  await stop?.();
  await world?.close();
});

const watches = (...args: string[]) => runInProcess(["watches", ...args, "--url", url], { QUERY_KEY: key });
const idIn = (stdout: string) => /^id +(\S+)$/m.exec(stdout)?.[1] ?? "";

test("a watch is made with a secret that is shown once, tested, told of, retried, changed and deleted", async () => {
  const { url: hook, received } = await startHttpReceiver((_, number) => (number === 1 ? 503 : 204));
  const { url: other, received: taken } = await startHttpReceiver();
  const made = await watches(
    "add",
    "ours\u001b[2J",
    "--network",
    "45.0.0.0/24",
    "198.51.101.7",
    "--webhook",
    hook,
    other,
  );
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(made.stdout).toContain("ours\\u{1b}[2J");
  expect(made.stdout).toContain("an address of 45.0.0.0/24 or 198.51.101.7/32 is seen");
  const secret = /whsec_\S+/.exec(made.stdout)?.[0] ?? "none";
  const id = idIn(made.stdout);
  const shown = await watches("show", id);
  expect(made.stdout).toContain(secret);
  expect(shown.stdout).not.toContain(secret);
  expect((await watches("test", id)).stdout).toBe("every destination took the test: HTTP 204\n");

  expect((await watches("events")).stdout).toBe("none\n");
  await world.watches.look();
  await world.store([observation("45.0.0.1", Date.now())]);
  await world.watches.look();
  expect((await watches("events", id)).stdout).toMatch(
    /^\S+Z {2}ours\\u\{1b\}\[2J: 45\.0\.0\.1 of the watched network 45\.0\.0\.0\/24 was seen\n$/,
  );
  const event = z.object({ id: z.string() }).parse(JSON.parse((await watches("events", "--json")).stdout)).id;
  await eventually(async () => expect((await watches("deliveries", id)).stdout).toContain("HTTP 503"));
  expect((await watches("list")).stdout).toMatch(/ enabled +\S+Z +1 +an address of /);
  expect((await watches("retry", id, event)).stdout).toBe(`delivers the event ${event} again\n`);
  await eventually(async () => expect((await watches("deliveries", id)).stdout).not.toContain("pending"));
  expect(received.map(({ headers }) => headers["webhook-id"]).slice(1)).toEqual([event, event]);
  expect(taken.map(({ headers }) => headers["webhook-id"]).slice(1), "that had it already").toEqual([event]);

  const changed = await watches("change", id, "--name", "mine", "--syslog", "siem.example.org:6514");
  const [, destination = ""] = /^delivers to +(\S+) {2}webhook /m.exec(changed.stdout) ?? [];
  expect(changed.stdout).toMatch(/syslog siem\.example\.org:6514 \(tls\)$/m);
  const fewer = await watches("change", id, "--remove-destination", destination, "--repeat-after-hours", "0");
  expect(fewer.stdout).not.toContain(hook);
  expect(fewer.stdout).toMatch(/^tells again +never of the same$/m);
  expect((await watches("disable", id)).stdout).toBe("disabled the watch mine\n");
  expect((await watches("show", id)).stdout).toMatch(/^state +disabled$/m);
  expect((await watches("enable", id)).stdout).toBe("enabled the watch mine\n");
  expect(await watches("delete", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --yes") });
  expect((await watches("delete", id, "--yes")).stdout).toBe("deleted the watch mine\n");
  expect((await watches("list")).stdout).toBe("none\n");
});

test.each([
  [["--search", "tags:mirai"], { type: "search_matches", query: "tags:mirai" }],
  [["--tag", "mirai"], { type: "tag_rises", tag: "mirai" }],
  [["--new-value", "cve", "--min-addresses", "5"], { type: "new_value", field: "cve", min_addresses: 5 }],
  [["--silent-after", "30", "--sensor", "a", "b"], { type: "sensor_silent", sensors: ["a", "b"], after_minutes: 30 }],
])("a watch that waits with %j", async (options, on) => {
  const made = await watches("add", "one", ...options, "--disabled", "--json");
  expect(JSON.parse(made.stdout)).toMatchObject({ on, enabled: false, deliver: [] });
});

test.each([
  [["--network", "45.0.0.0/24", "--tag", "mirai"], "a watch waits for one thing"],
  [[], "say what to wait for: one of --network"],
  [["--tag", "none"], 'no tag is called "none"'],
  [["--search", "clasification:x"], "\n  clasification:x\n  ^^^^^^^^^^^^^\n"],
  [["--tag", "mirai", "--sensor", "a"], "--sensor goes with --silent-after"],
  [["--tag", "mirai", "--syslog", "siem.example.org"], "--syslog takes a host and a port"],
])("a watch that is made with %j says what is wrong", async (options, reason) => {
  const { code, stderr } = await watches("add", "wrong", ...options);
  expect(code).toBe(1);
  expect(stderr).toContain(reason);
});

test("events are followed as they come, until the command is stopped", async () => {
  const { stdout } = await watches("add", "followed", "--network", "45.0.1.0/24");
  const id = idIn(stdout);
  const tell = async (ip: string) => {
    await world.store([observation(ip, Date.now())]);
    await world.watches.look();
  };
  await world.watches.look();
  await tell("45.0.1.1");
  const commandLine = await openCommandLine();
  onTestFinished(() => commandLine.close());
  const { child, output, finished } = commandLine.run([
    "watches",
    "events",
    id,
    "--follow",
    "--url",
    url,
    "--key",
    key,
  ]);
  await eventually(async () => expect(output()).toContain("45.0.1.1 "));
  await tell("45.0.1.2");
  await eventually(async () => expect(output()).toContain("45.0.1.2 "));
  child.kill("SIGTERM");
  expect((await finished).stdout.match(/45\.0\.1\.\d /g)).toEqual(["45.0.1.1 ", "45.0.1.2 "]);
});

test("a destination that said that it is gone is switched on again", async () => {
  const { url: hook } = await startHttpReceiver(() => 410);
  const { stdout } = await watches("add", "gone", "--network", "45.0.2.0/24", "--webhook", hook);
  const id = idIn(stdout);
  await world.watches.look();
  await world.store([observation("45.0.2.1", Date.now())]);
  await world.watches.look();
  await eventually(async () =>
    expect((await watches("show", id)).stdout).toContain("off: it answered that it is gone"),
  );
  await watches("enable", id);
  expect((await watches("show", id)).stdout).not.toContain("off: ");
});

test("a test that a destination refuses ends with exit code 1 and what came back", async () => {
  const { url: hook } = await startHttpReceiver(() => 418);
  const { stdout } = await watches(
    "add",
    "refused",
    "--tag",
    "mirai",
    "--webhook",
    hook,
    "--webhook-format",
    "greynoise",
  );
  expect(await watches("test", idIn(stdout))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("a destination did not take the test: HTTP 418"),
  });
});
