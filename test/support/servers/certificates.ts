import { rename, writeFile } from "node:fs/promises";
import type { TlsFiles } from "@noisefloor/http/server/tls.ts";
import { generate } from "selfsigned";

/** A self-signed certificate for this machine and its key, both in PEM form. */
export type Certificate = { readonly cert: string; readonly key: string };

export async function makeCertificate(commonName: string, keyType: "ec" | "rsa" = "ec"): Promise<Certificate> {
  const made = await generate([{ name: "commonName", value: commonName }], { keyType, algorithm: "sha256" });
  return { cert: made.cert, key: made.private };
}

export async function writeCertificate(files: TlsFiles, { cert, key }: Certificate): Promise<void> {
  await replaceFile(files.certFile, cert);
  await replaceFile(files.keyFile, key);
}

/** Replaces a file atomically, so that no reader sees a part. */
export async function replaceFile(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
