import { createServer, request as sendRequest } from "node:http";
import { buffer } from "node:stream/consumers";

/** What the proxy does to an answer of this size: how many bytes it passes on, and whether it calls that all. */
export type Cut = { readonly keep: (bytes: number) => number; readonly looksWhole: boolean };

/** A proxy between a client and a server that can truncate answers. */
export type CuttingProxy = {
  readonly url: string;
  /** From now on truncates answers with status 200; undefined passes all on unchanged. */
  cut(how: Cut | undefined): void;
  /** The parameters of the requests so far. */
  readonly requests: readonly URLSearchParams[];
  close(): Promise<void>;
};

/**
 * A cut answer that looks whole ends as HTTP wants it, with a length that fits: what a proxy sends whose own disk or
 * memory ran out, or a server whose buffer was lost. The other kind ends with its connection.
 */
export async function startCuttingProxy(upstream: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(upstream);
  let how: Cut | undefined;
  const requests: URLSearchParams[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, url = "", headers } = incoming;
    requests.push(new URL(url, upstream).searchParams);
    const onward = sendRequest({ hostname, port, method, path: url, headers }, async (answer) => {
      const body = await buffer(answer).catch(() => undefined);
      // The client went away while the server answered.
      if (body === undefined) return void outgoing.destroy();
      const { "transfer-encoding": _chunked, "content-length": _length, ...fields } = answer.headers;
      const isCut = how !== undefined && answer.statusCode === 200;
      const kept = isCut ? body.subarray(0, how?.keep(body.length)) : body;
      const length = isCut && how?.looksWhole === false ? body.length + 1 : kept.length;
      outgoing.writeHead(answer.statusCode ?? 502, { ...fields, "content-length": length });
      outgoing.write(kept);
      if (length === kept.length) outgoing.end();
      else setImmediate(() => outgoing.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy does not listen on a port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    cut: (wanted) => {
      how = wanted;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((settle) => server.close(settle));
    },
  };
}
