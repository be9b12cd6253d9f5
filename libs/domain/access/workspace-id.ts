export const MAX_WORKSPACE_ID = 64;
/** What an id of a workspace is made of, in words. */
export const WORKSPACE_ID_CHARACTERS = "letters, digits, _ and -";

export const WORKSPACE_ID = /^[A-Za-z0-9_-]+$/;

export function isWorkspaceId(text: string): boolean {
  return text.length <= MAX_WORKSPACE_ID && WORKSPACE_ID.test(text);
}
