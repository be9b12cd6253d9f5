import { z } from "zod";
import { startScript } from "../load/script.ts";

/** A route, in a process of its own, that answers with a body and does nothing else. */
export type EmptyRoute = { readonly port: number; close(): Promise<void> };

export async function startEmptyRoute(body: unknown): Promise<EmptyRoute> {
  const script = startScript(new URL("empty-route.ts", import.meta.url));
  try {
    const { port } = z.object({ port: z.int() }).parse(await script.ask({ body }));
    return { port, close: script.close };
  } catch (error) {
    await script.close();
    throw error;
  }
}
