import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { basePathOf } from "@noisefloor/http/base-path.ts";
import { LOGGED_AT_DEBUG } from "@noisefloor/http/requests/request-log.ts";
import { acceptedEncoding, varyByEncoding } from "@noisefloor/http/response-bodies/compression.ts";
import { isNotModified } from "@noisefloor/http/response-bodies/etag.ts";
import type { FastifyInstance, FastifyReply } from "fastify";

/** The built pages of services/explorer. */
export type Explorer = {
  /** The document of every page, with {@link BASE} where the prefix of paths belongs. */
  readonly document: string;
  /** The files that it loads, by name. */
  readonly assets: ReadonlyMap<string, Asset>;
};
type Asset = { readonly type: string; readonly plain: Buffer; readonly gzip: Buffer };

/** Stand for the prefix of paths, and for the public URL, in the build. */
const BASE = "/__base__";
const PUBLIC_URL = "__public_url__";

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Allows the service's own script, style sheet and API. Text can become neither markup nor a script. */
export const EXPLORER_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join(";");

/** @returns undefined if the folder has no build, as when the program runs from its sources. */
export function readExplorer(folder: string): Explorer | undefined {
  const file = join(folder, "index.html");
  if (!existsSync(file)) return undefined;
  const assets = readdirSync(join(folder, "assets")).map((name): [string, Asset] => {
    const type = TYPES[extname(name)];
    if (type === undefined) throw new Error(`the explorer's build has a file of an unknown type: ${name}`);
    const plain = readFileSync(join(folder, "assets", name));
    return [name, { type, plain, gzip: gzipSync(plain, { level: 9 }) }];
  });
  return { document: readFileSync(file, "utf8"), assets: new Map(assets) };
}

/** Serves the files that the document loads. @returns their URLs. */
export function registerAssets(app: FastifyInstance, { assets }: Explorer): string[] {
  return [...assets].map(([name, { type, plain, gzip }]) => {
    const url = `/assets/${name}`;
    app.get(url, { config: { operation: "explorerAsset" }, ...LOGGED_AT_DEBUG }, async (request, reply) => {
      reply.type(type);
      if (isNotModified(request, reply, [plain])) return reply.code(304).send();
      // Packed tighter than an answer could be while its client waits, so brotli would be no shorter.
      if (acceptedEncoding(request, ["gzip", "identity"]) !== "gzip") return plain;
      varyByEncoding(reply);
      reply.header("content-encoding", "gzip");
      return gzip;
    });
    return url;
  });
}

/** Sends the document, which makes itself the page of the URL. */
export function sendDocument(reply: FastifyReply, { document }: Explorer, publicUrl: string): FastifyReply {
  const url = new URL(publicUrl).href.replace(/\/+$/, "");
  // Only the path of the public URL: the browser keeps the host by which it reached the service.
  const page = document.replaceAll(BASE, () => basePathOf(publicUrl)).replaceAll(PUBLIC_URL, () => url);
  reply.header("content-security-policy", EXPLORER_SECURITY_POLICY).type("text/html; charset=utf-8");
  if (reply.statusCode === 200 && isNotModified(reply.request, reply, page)) return reply.code(304).send();
  return reply.send(page);
}
