import { complete, type Suggestion } from "@noisefloor/domain/query-language/completion/complete.ts";
import { useId, useState } from "preact/hooks";
import { formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { useKnownValues } from "./known-values.ts";

type TextField = HTMLInputElement | HTMLTextAreaElement;
/** What is written in a field, and where its cursor is. */
type Written = { readonly field: TextField; readonly text: string; readonly cursor: number };

/** Longer texts, and those of several lines, are pasted lists. */
const MAX_QUERY_CHARACTERS = 2_000;

const isTextField = (target: EventTarget | null): target is TextField =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;

/**
 * Suggests fields and values of the search language while a reader types into a field: the arrow keys choose, Enter or
 * Tab takes what is chosen and prevents the event's default, Escape closes the list. The field is an uncontrolled one.
 * @param days how many days back the counts of values reach; empty for all that is stored.
 * @param onType called with the text after each change by its reader.
 */
export function useCompletion(days = "", onType?: (text: string) => void) {
  const id = useId();
  const [written, setWritten] = useState<Written>();
  const [chosenText, setChosenText] = useState<string>();
  const { text, cursor } = written ?? { text: "", cursor: 0 };
  const known = useKnownValues(text, cursor, days);
  const { from, to, suggestions } = complete(text, cursor, known);
  const isShown = suggestions.length > 0;
  // By its text: values come and move while the list is open.
  const chosen = suggestions.findIndex((one) => one.text === chosenText);
  const active = suggestions[chosen];

  const close = () => {
    setWritten(undefined);
    setChosenText(undefined);
  };
  const openFor = (field: TextField) => {
    const { value, selectionStart } = field;
    const isQuery = value.length <= MAX_QUERY_CHARACTERS && !value.includes("\n");
    setWritten(isQuery ? { field, text: value, cursor: selectionStart ?? value.length } : undefined);
    setChosenText(undefined);
  };
  const onInput = ({ currentTarget }: { readonly currentTarget: EventTarget | null }) => {
    if (!isTextField(currentTarget)) return;
    openFor(currentTarget);
    onType?.(currentTarget.value);
  };
  const take = ({ text: taken }: Suggestion) => {
    if (written === undefined) return;
    const { field } = written;
    const isField = taken.endsWith(":");
    field.setRangeText(`${taken}${isField || to < text.length ? "" : " "}`, from, to, "end");
    onType?.(field.value);
    if (isField) openFor(field);
    else close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { currentTarget: field } = event;
    if (event.isComposing || !isTextField(field)) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && isShown) {
      event.preventDefault();
      // One position more than suggestions: none is chosen there.
      const positions = suggestions.length + 1;
      setChosenText(suggestions[((chosen + 1 + step + positions) % positions) - 1]?.text);
    } else if (step !== 0 && !field.value.includes("\n")) {
      event.preventDefault();
      openFor(field);
    } else if (event.key === "Escape" && isShown) {
      event.preventDefault();
      close();
    } else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && active !== undefined) {
      event.preventDefault();
      take(active);
    } else if (event.key === "Enter") close();
  };
  const list = (
    <div id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden={!isShown}>
      {suggestions.map((one, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys go to the field, which keeps the focus
        <div
          key={one.text}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          // Before the field loses the focus, which closes the list.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => take(one)}
        >
          <code>
            <Hostile text={one.text} />
          </code>{" "}
          <span class="faint">
            <Hostile text={one.meaning} />
          </span>
          {one.count === undefined ? null : (
            <span class="number faint">
              {formatCount(one.count)}
              <span class="hidden"> {one.count === 1 ? "address" : "addresses"}</span>
            </span>
          )}
        </div>
      ))}
    </div>
  );
  const attributes = {
    "aria-autocomplete": "list",
    "aria-controls": `${id}-list`,
    "aria-activedescendant": active === undefined ? undefined : `${id}-${chosen}`,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: false,
    onBlur: close,
  } as const;
  return { isShown, attributes, onInput, onKeyDown, close, list };
}
