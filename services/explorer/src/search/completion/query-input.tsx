import { complete, type Suggestion } from "@noisefloor/domain/query-language/completion/complete.ts";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Hostile } from "../../text/hostile.tsx";
import { useKnownValues } from "./known-values.ts";

type QueryInputProps = {
  readonly name: string;
  readonly query: string;
  readonly label: string;
  /** Of the element that says what is wrong with the query. */
  readonly errorId: string;
};

/**
 * A field for a query that suggests fields and values while its reader types: the arrow keys choose, Enter or Tab takes
 * what is chosen, Escape closes the list. Without a choice Enter runs the query.
 */
export function QueryInput({ name, query, label, errorId }: QueryInputProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [{ text, cursor }, setWritten] = useState({ text: query, cursor: query.length });
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const known = useKnownValues(isOpen ? text : "", isOpen ? cursor : 0);
  const { from, to, suggestions } = complete(text, cursor, known);
  const isShown = isOpen && suggestions.length > 0;
  const active = isShown ? suggestions[chosen] : undefined;

  const close = () => {
    setIsOpen(false);
    setChosen(-1);
  };
  const open = ({ currentTarget }: { readonly currentTarget: EventTarget | null }) => {
    if (!(currentTarget instanceof HTMLInputElement)) return;
    const { value, selectionStart } = currentTarget;
    setWritten({ text: value, cursor: selectionStart ?? value.length });
    setIsOpen(true);
    setChosen(-1);
  };
  const take = ({ text: taken }: Suggestion) => {
    const isField = taken.endsWith(":");
    const rest = text.slice(to);
    const written = `${text.slice(0, from)}${taken}${isField || rest !== "" ? "" : " "}`;
    setWritten({ text: written + rest, cursor: written.length });
    setIsOpen(isField);
    setChosen(-1);
  };
  // The cursor goes behind what was taken, once the field has it.
  useLayoutEffect(() => {
    const field = input.current;
    if (field !== null && field.selectionStart !== cursor && document.activeElement === field) {
      field.setSelectionRange(cursor, cursor);
    }
  }, [text, cursor]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      if (!isShown) return open(event);
      // One position more than suggestions: none is chosen there.
      const positions = suggestions.length + 1;
      setChosen((now) => ((now + 1 + step + positions) % positions) - 1);
    } else if (event.key === "Escape" && isShown) {
      event.preventDefault();
      close();
    } else if ((event.key === "Enter" || (event.key === "Tab" && !event.shiftKey)) && active !== undefined) {
      event.preventDefault();
      take(active);
    }
  };
  return (
    <div class="combobox">
      <input
        ref={input}
        name={name}
        value={text}
        role="combobox"
        aria-label={label}
        aria-describedby={errorId}
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={active === undefined ? undefined : `${id}-${chosen}`}
        placeholder="tags:mirai port:23 NOT country_code:US"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={open}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <div id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden={!isShown}>
        {(isShown ? suggestions : []).map((one, index) => (
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
          </div>
        ))}
      </div>
    </div>
  );
}
