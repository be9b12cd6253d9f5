/** How many lines a chunk of a body has. */
export const LINES = 4_096;
const OCTETS = Array.from({ length: 256 }, (_, octet) => String(octet));

/** Each address with a text before and after it, in chunks. */
export function* addressLines(addresses: Uint32Array, before: string, after: string): Generator<string> {
  for (let start = 0; start < addresses.length; start += LINES) {
    let chunk = "";
    for (const address of addresses.subarray(start, start + LINES)) {
      chunk += `${before}${OCTETS[address >>> 24]}.${OCTETS[(address >>> 16) & 255]}.${OCTETS[(address >>> 8) & 255]}.${OCTETS[address & 255]}${after}`;
    }
    yield chunk;
  }
}

/** Each name as a text, in chunks. */
export function* nameLines(names: readonly string[], format: (name: string) => string): Generator<string> {
  for (let start = 0; start < names.length; start += LINES) {
    yield names
      .slice(start, start + LINES)
      .map(format)
      .join("");
  }
}
