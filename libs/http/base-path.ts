/** The path of a public URL without a trailing slash: what a proxy adds before all paths. Empty for most services. */
export function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/+$/, "");
}
