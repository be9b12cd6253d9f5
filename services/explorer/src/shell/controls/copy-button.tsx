import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Puts a text into the clipboard, or shows it where the browser does not allow that. */
export function CopyButton({ text, children }: { readonly text: string; readonly children: ComponentChildren }) {
  const [outcome, setOutcome] = useState<"copied" | "failed">();
  const copy = async () => {
    try {
      // Browsers have no clipboard over plain HTTP, except for this machine.
      await navigator.clipboard.writeText(text);
      setOutcome("copied");
    } catch {
      setOutcome("failed");
    }
  };
  return (
    <>
      <button type="button" class="quiet" onClick={copy}>
        {children}
      </button>
      <span role="status">{outcome === "copied" ? "Copied." : ""}</span>
      {outcome === "failed" ? (
        <label class="copy">
          The browser does not allow it: copy it from here
          <textarea readOnly value={text} rows={2} />
        </label>
      ) : null}
    </>
  );
}
