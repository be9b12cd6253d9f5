/** What we use of two packages that have no types. */
declare module "snappyjs" {
  export function uncompress(compressed: Uint8Array, maxLength: number): Uint8Array;
}
declare module "lz4js" {
  export function decompress(frame: Uint8Array, size: number): Uint8Array;
}
