import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** A checkout with a program of one line. */
async function makeCheckout() {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-checkout-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const file of ["infra/build.mjs", "services/cli/bin/noisefloor.js", "package.json", "package-lock.json"]) {
    await cp(join(ROOT, file), join(folder, file));
  }
  await cp(join(ROOT, "noisefloor"), join(folder, "noisefloor"), { verbatimSymlinks: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const server = join(folder, "libs/clickhouse/embedded");
  await mkdir(server, { recursive: true });
  await writeFile(join(server, "embedded-server.mjs"), "");
  await mkdir(join(folder, "services/cli/program"));
  // The pages have a build of their own, which takes seconds.
  await mkdir(join(folder, "services/explorer"));
  await writeFile(join(folder, "services/explorer/build.mjs"), "export const provideExplorer = async () => {};\n");
  return {
    folder,
    write: (text: string) =>
      writeFile(join(folder, "services/cli/program/main.ts"), `console.log("${text}" as string);\n`),
    async run() {
      const { stdout } = await promisify(execFile)("./noisefloor", { cwd: folder });
      return stdout;
    },
  };
}

test("a changed source shows with the next command, also when several begin at once", async () => {
  const checkout = await makeCheckout();
  for (const text of ["one", "more than one"]) {
    await checkout.write(text);
    expect(await Promise.all([checkout.run(), checkout.run()])).toEqual([`${text}\n`, `${text}\n`]);
  }
  expect(await readdir(join(checkout.folder, "dist")), "one build, and nothing unfinished").toHaveLength(1);
});

test("a build that a process still runs stays until it has ended, as it loads parts of it late", async () => {
  const checkout = await makeCheckout();
  const part = join(checkout.folder, "services/cli/program/part.ts");
  await writeFile(part, 'export const text = "of the earlier build";\n');
  await writeFile(
    join(checkout.folder, "services/cli/program/main.ts"),
    'console.log("waits"); process.stdin.once("data", async () => { console.log((await import("./part.ts")).text); process.exit(); });\n',
  );
  const running = spawn("./noisefloor", { cwd: checkout.folder, stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  running.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await expect.poll(() => output, { timeout: 30_000 }).toBe("waits\n");
  await rm(part);
  for (const text of ["second", "third"]) {
    await checkout.write(text);
    expect(await checkout.run()).toBe(`${text}\n`);
  }
  expect(await readdir(join(checkout.folder, "dist"))).toHaveLength(2);
  const ended = once(running, "close");
  running.stdin.write("go\n");
  await ended;
  expect(output).toBe("waits\nof the earlier build\n");
  await checkout.write("fourth");
  await checkout.run();
  expect(await readdir(join(checkout.folder, "dist"))).toHaveLength(1);
});

test("where there are no sources, as in the image, what was built runs", async () => {
  const checkout = await makeCheckout();
  await checkout.write("built");
  await checkout.run();
  await rm(join(checkout.folder, "services/cli/program/main.ts"));
  for (const sources of ["libs", "services/explorer"]) await rm(join(checkout.folder, sources), { recursive: true });
  expect(await checkout.run()).toBe("built\n");
});

test("in a fresh clone the command says what is missing, and npx runs it instead of another's package", async () => {
  const checkout = await makeCheckout();
  await checkout.write("never");
  await rm(join(checkout.folder, "node_modules"));
  const missing = {
    stderr: expect.stringContaining('the packages are not installed: run "npm start" or "npm ci" once'),
  };
  await expect(checkout.run()).rejects.toMatchObject(missing);
  const env = { ...process.env, npm_config_cache: join(checkout.folder, "cache"), npm_config_offline: "true" };
  const npx = promisify(execFile)("npx", ["noisefloor"], { cwd: checkout.folder, env });
  await expect(npx).rejects.toMatchObject(missing);
});
