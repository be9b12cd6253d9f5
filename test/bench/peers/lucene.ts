import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { fileURLToPath } from "node:url";
import { keepOutputTail } from "@noisefloor/telemetry/output-tail.ts";
import { ensureJars } from "../../support/servers/java/java-server.ts";
import type { FoundAddresses } from "../search-questions.ts";

const FOLDER = fileURLToPath(new URL("./lucene", import.meta.url));
const JARS = "lucene-9.12.3";

/** Apache Lucene with one document an address, in a JVM of its own. */
export type Lucene = {
  /** @returns what it found, and the milliseconds that its JVM took. */
  ask(query: string): Promise<{ readonly found: FoundAddresses; readonly ms: number }>;
  close(): Promise<void>;
};

/**
 * Indexes the rows of `search-rows.ts`.
 * @throws JavaServerError without a JVM or Maven.
 */
export async function openLucene(rows: string): Promise<Lucene> {
  const jars = await ensureJars(JARS, join(FOLDER, "pom.xml"));
  const index = await mkdtemp(join(tmpdir(), "noisefloor-lucene-"));
  const args = ["-Xmx1g", "-cp", join(jars, "*"), join(FOLDER, "Lucene.java"), rows, index];
  const child = spawn("java", args, { stdio: ["pipe", "pipe", "pipe"] });
  const outputTail = keepOutputTail(child);
  const ended = once(child, "close");
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`Lucene ended: ${outputTail()}`);
    return value;
  };
  const close = async () => {
    process.removeListener("exit", killAtExit);
    child.stdin.end();
    await ended;
    await rm(index, { recursive: true });
  };
  try {
    for (let line = await nextLine(); !line.startsWith("ready "); line = await nextLine());
  } catch (error) {
    await close();
    throw error;
  }
  return {
    async ask(query) {
      child.stdin.write(`${query}\n`);
      const [count = "", nanoseconds = "", first = ""] = (await nextLine()).split("\t");
      return {
        found: { count: Number(count), first: first === "" ? [] : first.split(",") },
        ms: Number(nanoseconds) / 1e6,
      };
    },
    close,
  };
}
