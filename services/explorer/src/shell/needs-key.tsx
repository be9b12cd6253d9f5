/** What is shown in the place of a page that a workspace alone may see. */
export function NeedsKey({ what }: { readonly what: string }) {
  return <p class="notice">{what} belong to a workspace: enter its key with the button Key at the top.</p>;
}
