/** What we use of two packages that come without types. */
declare module "snappyjs" {
  export function uncompress(compressed: Uint8Array): Uint8Array;
}
declare module "lz4js" {
  export function decompress(frame: Uint8Array): Uint8Array;
}
