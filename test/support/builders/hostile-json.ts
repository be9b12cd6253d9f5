/** JSON that takes many times its bytes in memory, or far longer than others to read. */
export const HOSTILE_JSON: Readonly<Record<string, (bytes: number) => string>> = {
  "nested arrays": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  "nested objects": (bytes) => nestedObjects(bytes / 6),
  "nothing but opening brackets": (bytes) => "[".repeat(bytes),
  "empty objects": (bytes) => `[{}${",{}".repeat(bytes / 3)}]`,
  "empty arrays": (bytes) => `[[]${",[]".repeat(bytes / 3)}]`,
  numbers: (bytes) => `[1${",1".repeat(bytes / 2)}]`,
  "objects with a name of their own each": (bytes) => `[${numbered(bytes / 12, (n) => `{"${n}":0}`)}]`,
  "names of one object": (bytes) => `{${numbered(bytes / 11, (n) => `"${n}":0`)}}`,
  "one name again and again": (bytes) => `{"a":1${',"a":1'.repeat(bytes / 6)}}`,
  "the name __proto__": (bytes) => `{"__proto__":{"a":[{}${",{}".repeat(bytes / 3)}]}}`,
  "a long number": (bytes) => "9".repeat(bytes),
  "a long text": (bytes) => `"${"x".repeat(bytes)}"`,
  "a long text of escapes": (bytes) => `"${"\\u00e9".repeat(bytes / 6)}"`,
  "white space": (bytes) => `[${" ".repeat(bytes)}1]`,
};

export const nestedArrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
export const nestedObjects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

function numbered(count: number, make: (n: string) => string): string {
  return Array.from({ length: count }, (_, n) => make(n.toString(36).padStart(5, "k"))).join();
}
