import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { findRunning } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { locateLibrary } from "@noisefloor/clickhouse/embedded/embedded-process.ts";
import { explainLoss, openClickHouse } from "@noisefloor/clickhouse/server/open.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { eventually, throughout } from "../../support/eventually.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { atVolume } from "../../support/volume.ts";

let dataDir: string;
const started: EmbeddedClickHouse[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "noisefloor-embedded-"));
});
afterEach(async () => {
  for (const server of started.splice(0)) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedClickHouse> {
  const server = await startEmbedded(dataDir);
  started.push(server);
  return server;
}

async function ask(server: EmbeddedClickHouse["connection"], query: string): Promise<string> {
  const client = connect({ ...server, database: "default" }, "noisefloor-tests");
  try {
    const result = await client.query({ query, format: "TabSeparated" });
    return (await result.text()).trim();
  } finally {
    await client.close();
  }
}

async function command(server: EmbeddedClickHouse["connection"], query: string): Promise<void> {
  const client = connect({ ...server, database: "default" }, "noisefloor-tests");
  try {
    await client.command({ query });
  } finally {
    await client.close();
  }
}

test("data survive a stop and a start, and ordinary work leaves the server's log empty", async () => {
  const first = await start();
  await command(first.connection, "CREATE TABLE kept (x UInt8) ENGINE = MergeTree ORDER BY x");
  await command(first.connection, "INSERT INTO kept VALUES (42)");
  await first.stop();
  const second = await start();
  expect(await ask(second.connection, "SELECT x FROM kept")).toBe("42");
  await command(second.connection, "INSERT INTO kept VALUES (43)");
  expect(await readFile(join(dataDir, "clickhouse", "clickhouse.log"), "utf8")).toBe("");
});

describe("a running server", () => {
  let shared: EmbeddedClickHouse;
  let itsData: string;

  beforeAll(async () => {
    itsData = await mkdtemp(join(tmpdir(), "noisefloor-embedded-"));
    vi.stubEnv("SENSOR_KEYS", "a-secret-of-the-service");
    vi.stubEnv("TZ", "UTC");
    shared = await startEmbedded(itsData);
    vi.unstubAllEnvs();
  });
  afterAll(async () => {
    await shared.stop();
    await rm(itsData, { recursive: true, force: true });
  });

  test("no user gets in without a password, not even the one that keeps the server alive", async () => {
    const { connection } = shared;
    await expect(ask({ ...connection, username: "default", password: "" }, "SELECT 1")).rejects.toThrow();
    await expect(ask({ ...connection, password: "guess" }, "SELECT 1")).rejects.toThrow(/Authentication failed/);
    for (const name of ["credentials.json", "config.xml", "server.json"]) {
      expect((await stat(join(itsData, "clickhouse", name))).mode & 0o077, name).toBe(0);
    }
  });

  test("it listens on one port of the loopback address, and speaks no protocol but HTTP there", async () => {
    const { connection, pid } = shared;
    if (process.platform !== "linux") return;
    const sockets = new Set<string>();
    for (const descriptor of await readdir(`/proc/${pid}/fd`)) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
    const listening: string[] = [];
    for (const file of ["tcp", "tcp6"]) {
      for (const line of (await readFile(`/proc/net/${file}`, "utf8")).split("\n").slice(1)) {
        const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
        if (state === "0A" && sockets.has(inode)) listening.push(local);
      }
    }
    const hexPort = Number(new URL(connection.url).port).toString(16).toUpperCase().padStart(4, "0");
    expect(listening).toEqual([`0100007F:${hexPort}`]);
  });

  test.runIf(process.platform === "linux")("its environment has nothing of ours but the time zone", async () => {
    const variables = (await readFile(`/proc/${shared.pid}/environ`, "utf8"))
      .split("\0")
      .filter((variable) => variable !== "");
    expect(variables.filter((variable) => !variable.startsWith("LD_LIBRARY_PATH="))).toEqual(["TZ=UTC"]);
  });

  test("a data directory that another process uses is an error that says what to do", async () => {
    await expect(startEmbedded(itsData)).rejects.toThrow(
      /is in use by (pid \d+ \(a service\)|another process): stop it first, or set DATA_DIR/,
    );
  });

  test("a second command uses the running server, and leaves it running", async () => {
    const other = await openClickHouse({ dataDir: itsData }, { purpose: "command" });
    expect(other.origin).toBe("running");
    expect(other.connection).toEqual(shared.connection);
    await other.close();
    expect(await ask(shared.connection, "SELECT 1")).toBe("1");
  });
});

testInFull("commands that start at the same moment work one after the other, each on a server of its own", async () => {
  let running = 0;
  let waits = 0;
  const work = async () => {
    const server = await openClickHouse({ dataDir }, { purpose: "command", onWait: () => waits++ });
    expect(++running, "no other command runs").toBe(1);
    expect(await ask(server.connection, "SELECT sleep(0.7)")).toBe("0");
    running--;
    await server.close();
    return server.origin;
  };
  expect(await Promise.all([work(), work(), work()])).toEqual(["embedded", "embedded", "embedded"]);
  expect(waits, "each that waits says so once").toBeLessThanOrEqual(2);
});

testInFull("a start that was killed half-way does not prevent the next one", async () => {
  const killed = spawn("true");
  await once(killed, "close");
  const lockFile = join(dataDir, "clickhouse", "starting");
  for (const [pid, age] of [
    [killed.pid ?? 0, 0],
    // The process id of another process by now, as after the restart of a container.
    [process.pid, 60],
  ]) {
    await mkdir(join(dataDir, "clickhouse"), { recursive: true });
    await writeFile(lockFile, String(pid));
    const lockedAt = Date.now() / 1_000 - (age ?? 0);
    await utimes(lockFile, lockedAt, lockedAt);
    await (await start()).stop();
    await expect(stat(lockFile)).rejects.toThrow("ENOENT");
  }
});

test("a command that waits for another says so once and can be stopped", async () => {
  const command = await openClickHouse({ dataDir }, { purpose: "command" });
  const stop = new AbortController();
  let waits = 0;
  const opening = openClickHouse({ dataDir }, { purpose: "command", signal: stop.signal, onWait: () => waits++ });
  const rejected = expect(opening).rejects.toThrow("stopped while waiting for a command that uses the data directory");
  await eventually(async () => expect(waits).toBe(1));
  await throughout(1_000, () => expect(waits).toBe(1));
  stop.abort();
  await rejected;
  expect(waits).toBe(1);
  await command.close();
});

testInFull(
  "a reading command does not wait for the end of a long one, and reports it when that ended the server",
  async () => {
    const command = await openClickHouse({ dataDir }, { purpose: "command" });
    const look = await openClickHouse({ dataDir }, { purpose: "look" });
    expect(look.origin).toBe("running");
    const ownFault = new Error("something else");
    expect(await explainLoss(look, ownFault)).toBe(ownFault);
    await command.close();
    const error: unknown = await ask(look.connection, "SELECT 1").catch((reason: unknown) => reason);
    for (const lost of [error, new Error("it broke off", { cause: error })]) {
      expect(await explainLoss(look, lost)).toMatchObject({
        name: "StoreError",
        message: "the process whose ClickHouse was used has ended: run it again",
      });
    }
    await look.close();
    const alone = await openClickHouse({ dataDir }, { purpose: "look" });
    expect(alone.origin).toBe("embedded");
    expect(await explainLoss(alone, error), "its own server was not another process's").toBe(error);
    await alone.close();
  },
);

test("a service does not use a command's server, which ends with the command: it waits and starts its own", async () => {
  const command = await openClickHouse({ dataDir }, { purpose: "command" });
  let waits = 0;
  const opening = openClickHouse({ dataDir }, { purpose: "service", onWait: () => waits++ });
  await eventually(async () => expect(waits).toBe(1));
  await command.close();
  const service = await opening;
  expect(service.origin).toBe("embedded");
  expect((await openClickHouse({ dataDir }, { purpose: "service" })).origin, "beside a service").toBe("running");
  await service.close();
});

test("no other process uses a data directory while a restore does", async () => {
  const restore = await openClickHouse({ dataDir }, { purpose: "restore" });
  for (const purpose of ["service", "command", "restore"] as const) {
    await expect(openClickHouse({ dataDir }, { purpose }), purpose).rejects.toThrow(
      /a restore is running in the data directory \/.+: try again when it has ended/,
    );
  }
  await restore.close();
});

test("a server that does not answer in time is reported with its last output, and killed", async () => {
  await expect(startEmbedded(dataDir, { startTimeoutMs: 1 })).rejects.toThrow(/did not answer within 0.001 s/);
  await start();
});

test("on a platform without its package the error says what to install", () => {
  expect(() => locateLibrary("sunos", "sparc")).toThrow(
    /embedded ClickHouse for sunos-sparc is not installed: run "npm install --no-save @chdb\/lib-sunos-sparc@.*or set CLICKHOUSE_URL/,
  );
});

test("after its parent was killed the server ends by itself, and no acknowledged row is missing", async () => {
  const script = fileURLToPath(new URL("../../support/servers/insert-until-killed.ts", import.meta.url));
  for (let round = 0; round < atVolume(1, 2); round++) {
    const parent = spawn(process.execPath, ["--import", "tsx", script, dataDir], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let acknowledged = 0;
    parent.stdout.setEncoding("utf8").on("data", (text: string) => {
      acknowledged = z.coerce.number().parse(text.trim().split("\n").at(-1));
    });
    await eventually(async () => expect(acknowledged).toBeGreaterThan(20 * (round + 1)));
    parent.kill("SIGKILL");
    await eventually(async () => expect(await findRunning(dataDir)).toBeUndefined());
    const again = await eventually(() => start());
    expect(Number(await ask(again.connection, "SELECT max(x) FROM inserted"))).toBeGreaterThanOrEqual(acknowledged);
    expect(await ask(again.connection, "SELECT uniqExact(x) = max(x) FROM inserted")).toBe("1");
    await again.stop();
  }
});
