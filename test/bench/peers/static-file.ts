import { basename, dirname } from "node:path";
import fastifyStatic from "@fastify/static";
import fastify from "fastify";
import { z } from "zod";

/** A server that answers with the file that it was started with, as the plugin for files does. */
process.on("message", (message) => {
  const { path } = z.object({ path: z.string() }).parse(message);
  const app = fastify();
  app.register(fastifyStatic, { root: dirname(path) });
  void app.listen({ host: "127.0.0.1", port: 0 }).then((url) => process.send?.({ url: `${url}/${basename(path)}` }));
});
