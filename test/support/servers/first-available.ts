/** One way to get hold of a real server. `start` resolves to undefined when this way does not exist here at all. */
export type Provider<T> = { readonly name: string; readonly start: () => Promise<T | undefined> };

/**
 * The first server that can be had, in the given order. A way that exists but fails is told on standard error and the
 * next one is tried; when none is left, the reasons are thrown: tests never pass because a server is missing.
 */
export async function firstAvailable<T>(what: string, providers: readonly Provider<T>[], advice: string): Promise<T> {
  const reasons: string[] = [];
  for (const { name, start } of providers) {
    try {
      const server = await start();
      if (server !== undefined) {
        console.error(`tests: ${what} from ${name}`);
        return server;
      }
    } catch (error) {
      const reason = `${name}: ${error instanceof Error ? error.message : String(error)}`;
      console.error(`tests: no ${what} from ${reason.split("\n")[0]}`);
      reasons.push(reason);
    }
  }
  throw new Error(`the tests need a real ${what}. ${advice}\n${reasons.join("\n")}`);
}
