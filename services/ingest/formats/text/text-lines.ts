import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** Decodes the lines of one stream in order. */
export type LineDecoder = {
  /** Whether a line shows its format by itself. */
  recognizes(line: string): boolean;
  /** Whether lines that show nothing are of a format that is known: the only one, or that of a line before. */
  isKnown(): boolean;
  /** The line in the format that it shows, else in the known one; undefined if neither exists. */
  decode(line: string, options: DecodeOptions): (Decoded & { readonly format: string }) | undefined;
};

/** Lines of text belong to the format that last recognised one, unless another one recognises them. */
export function openLines(formats: readonly LogFormat[]): LineDecoder {
  const texts = formats.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, ...text }]));
  let current = texts.length === 1 && formats.length === 1 ? texts[0] : undefined;
  let decode = current?.open();
  return {
    recognizes: (line) => texts.some((text) => text.recognizes(line)),
    isKnown: () => current !== undefined,
    decode(line, options) {
      const recognized = formats.length === 1 ? undefined : texts.find((text) => text.recognizes(line));
      if (recognized !== undefined && recognized !== current) {
        current = recognized;
        decode = recognized.open();
      }
      if (current === undefined || decode === undefined) return undefined;
      return { ...decode(line, options), format: current.name };
    },
  };
}
