import type { ChildProcess } from "node:child_process";

/** Keeps the last lines that a child process writes, and keeps its pipes empty so that it never blocks on them. */
export function keepOutputTail(child: ChildProcess, streams = [child.stdout, child.stderr]): () => string {
  let tail = "";
  for (const stream of streams) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      tail = (tail + chunk).slice(-8_000);
    });
  }
  return () => tail.trim().split("\n").slice(-20).join("\n");
}
