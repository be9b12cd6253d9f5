import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { startScript } from "../load/script.ts";

/** A file that `@fastify/static` serves, in a process of its own. */
export type StaticFile = { readonly url: string; close(): Promise<void> };

export async function startStaticFile(text: string): Promise<StaticFile> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-static-"));
  const script = startScript(new URL("static-file.ts", import.meta.url));
  const close = async () => {
    await script.close();
    await rm(folder, { recursive: true });
  };
  try {
    const path = join(folder, "list.txt");
    await writeFile(path, text);
    const { url } = z.object({ url: z.string() }).parse(await script.ask({ path }));
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}
