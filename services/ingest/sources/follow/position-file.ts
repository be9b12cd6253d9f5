import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { type FollowedFile, followedFileSchema } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import { createMutex } from "../../mutex.ts";
import type { PositionStore } from "./follower.ts";

/** The position of a file that is gone for longer is forgotten. */
const KEPT_MS = 100 * DAY_MS;

/**
 * Keeps positions in a file, for a follower without a store of its own. It is replaced as a whole: a process that is
 * killed leaves the one before. @throws from `read` when the file holds something else.
 */
export function positionFile(path: string, now: () => number): PositionStore {
  const byId = new Map<string, FollowedFile>();
  const lock = createMutex();
  return {
    async read() {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const text = await readFile(path, "utf8").catch((error: unknown) => {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return "[]";
        throw error;
      });
      const files = z.array(followedFileSchema).safeParse(toJson(text));
      if (!files.success) throw new Error(`${path} holds no positions of followed files: remove it to read all anew`);
      for (const file of files.data) byId.set(file.id, file);
      return files.data;
    },
    async write(files) {
      const unlock = await lock();
      try {
        for (const file of files) byId.set(file.id, file);
        for (const { id, updatedAt, state } of byId.values()) {
          if (state === "gone" && updatedAt < now() - KEPT_MS) byId.delete(id);
        }
        const handle = await open(`${path}.new`, "w", 0o600);
        try {
          await handle.writeFile(JSON.stringify([...byId.values()]));
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(`${path}.new`, path);
      } finally {
        unlock();
      }
    },
  };
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
