import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder that only its owner may enter, and its parents. Node's own `recursive` never ends where a parent
 * exists and cannot hold folders, as below /proc.
 */
export async function makeFolder(path: string): Promise<void> {
  const missing: string[] = [];
  let at = resolve(path);
  for (; !(await exists(at)) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
      // Another process may have made it meanwhile.
      if (!(await exists(folder))) throw error;
    });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
