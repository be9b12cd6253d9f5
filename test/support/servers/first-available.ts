/** One way to provide a real server. `start` resolves to undefined when this way does not exist here. */
export type Provider<T> = { readonly name: string; readonly start: () => Promise<T | undefined> };

/**
 * The first server that can be provided, in the given order. A way that exists but fails is logged to standard error
 * and the next one is tried. Throws all reasons when none is left: tests never pass because a server is missing.
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
