/** An error as those who run the service need it to find its cause: without the query, which may be private. */
export function describeFault(error: unknown): string {
  const what = error instanceof Error ? [String(error), ...(error.stack?.split("\n") ?? [])] : [String(error)];
  const lines = [...new Set(what.map((line) => line.trim()))].slice(0, 8);
  return [...lines, `on ${location.pathname}`, navigator.userAgent].join("\n");
}

/** Shows why the pages did not start, in the message that the document has until they have. */
export function showStartFault(error: unknown): void {
  const message = document.getElementById("start");
  if (message === null) return;
  message.classList.add("failed");
  message.append(Object.assign(document.createElement("pre"), { textContent: describeFault(error) }));
}
