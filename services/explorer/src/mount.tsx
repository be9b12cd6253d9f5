import { render } from "preact";
import { App } from "./app.tsx";
import { ErrorBoundary } from "./faults/error-boundary.tsx";

/** Puts the pages in the place of the message that they have not started. */
export function mount(): void {
  const root = document.getElementById("app");
  if (root === null) throw new Error("the document has no element with the id app");
  const pages = document.createElement("div");
  render(
    <ErrorBoundary>
      <App />
    </ErrorBoundary>,
    pages,
  );
  root.replaceChildren(pages);
}
