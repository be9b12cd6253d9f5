import type { CommandContext } from "./command.ts";

/** Whether to print JSON, for scripts. */
export type OutputOptions = { readonly json: boolean };

/** Prints rows as a table whose header is the names of their members, or as JSON. */
export function show(
  rows: readonly Record<string, unknown>[],
  { json }: OutputOptions,
  { print }: CommandContext,
): void {
  if (json) {
    print(JSON.stringify(rows));
    return;
  }
  const [first] = rows;
  if (first === undefined) {
    print("none");
    return;
  }
  const names = Object.keys(first);
  const table = [names, ...rows.map((row) => names.map((name) => printable(String(row[name]))))];
  const widths = names.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)));
  for (const cells of table)
    print(
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

/** Escapes control and format characters: text from a sender must not control the terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );
}

/** A text as one word of a shell, in single quotes. */
export const shellQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Prints a new key, for the only time. As JSON, with the members that say what it is for. */
export function showNewKey(
  created: { readonly id: string; readonly key: string; readonly [member: string]: string },
  { json }: OutputOptions,
  { print }: CommandContext,
): void {
  if (json) {
    print(JSON.stringify(created));
    return;
  }
  print(`id   ${created.id}`);
  print(`key  ${created.key}`);
  print("Keep the key: it is stored nowhere and cannot be shown again.");
}
