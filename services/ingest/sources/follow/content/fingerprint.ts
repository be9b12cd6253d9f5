import { hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";

/** What a content is known by, wherever it lies: the digest of its first bytes. */
export type Fingerprint = { readonly headBytes: number; readonly head: string };

/** Most logs begin with a time in the first line, so two of them differ long before this. */
export const HEAD_BYTES = 4_096;

export function fingerprintOf(head: Buffer): Fingerprint {
  const first = head.subarray(0, HEAD_BYTES);
  return { headBytes: first.length, head: hash("sha256", first).slice(0, 32) };
}

/** Whether a content that begins with these bytes may be the one with the fingerprint, grown or not. */
export function hasFingerprint(head: Buffer, { headBytes, head: digest }: Fingerprint): boolean {
  return head.length >= headBytes && fingerprintOf(head.subarray(0, headBytes)).head === digest;
}

/** Whether a fingerprint is of enough bytes to know a copy by. Short ones may be a header that many files begin with. */
export const isTelling = ({ headBytes }: Fingerprint): boolean => headBytes === HEAD_BYTES;

/** The first bytes of a file, fewer where it is shorter. */
export function readHead(handle: FileHandle, bytes = HEAD_BYTES): Promise<Buffer> {
  return readAt(handle, 0, bytes);
}

/** Bytes of a file, fewer where it ends before. */
export async function readAt(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  let filled = 0;
  while (filled < bytes) {
    const { bytesRead } = await handle.read(buffer, filled, bytes - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
