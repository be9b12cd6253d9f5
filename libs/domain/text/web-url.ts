/** The URL if a browser may open it; lists, rules and tags may name anything. */
export function webUrl(text: string): string | undefined {
  if (!/^https?:/i.test(text) || !URL.canParse(text)) return undefined;
  return new URL(text).href;
}
