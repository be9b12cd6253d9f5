/** A text as a quoted value of the search language: it stands for itself, whatever is in it. */
export function quote(text: string): string {
  return `"${text.replace(/["\\*]/g, "\\$&")}"`;
}
