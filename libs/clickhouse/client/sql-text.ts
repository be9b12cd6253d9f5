/** Text for statements that take no bound values: every character that could end it is escaped. */
export function literal(text: string): string {
  return `'${text.replace(/[\\']/g, (character) => `\\${character}`)}'`;
}

/** The name of a database or table, whatever its owner called it. */
export function identifier(name: string): string {
  return `\`${name.replace(/[\\`]/g, (character) => `\\${character}`)}\``;
}
