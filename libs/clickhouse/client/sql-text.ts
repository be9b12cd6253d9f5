/** A string literal, for statements that accept no bound values. */
export function literal(text: string): string {
  return `'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;
}

/** The quoted name of a database or table. */
export function identifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, (character) => `\\${character}`)}\``;
}

/** A table, with its database. */
export type TablePlace = { readonly database: string; readonly table: string };

export function formatTable({ database, table }: TablePlace): string {
  return `${identifier(database)}.${identifier(table)}`;
}
