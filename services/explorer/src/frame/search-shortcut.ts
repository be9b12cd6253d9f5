import { useEffect } from "preact/hooks";

/** The key `/` goes to the search, wherever the reader is, except where it is typed into a field. */
export function useSearchShortcut(): void {
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.target instanceof Element && event.target.closest(TAKES_KEYS) !== null) return;
      const field = document.querySelector("search [name=search]");
      if (!(field instanceof HTMLElement)) return;
      event.preventDefault();
      field.focus();
    };
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

const TAKES_KEYS = "input, textarea, select, dialog, [contenteditable]";
