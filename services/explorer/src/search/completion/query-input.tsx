import { useLayoutEffect, useRef } from "preact/hooks";
import { useCompletion } from "./use-completion.tsx";

type QueryInputProps = {
  readonly name: string;
  /** What the field has at first, and again whenever it changes. */
  readonly query: string;
  /** How many days back the counts of values reach; empty for all that is stored. */
  readonly days?: string;
  readonly label: string;
  /** The id of the element that says what is wrong with the query. */
  readonly errorId: string;
  readonly onType?: (text: string) => void;
};

/** A field for a query, which suggests fields and values. Without a choice among them Enter runs the query. */
export function QueryInput({ name, query, days, label, errorId, onType }: QueryInputProps) {
  const { isShown, attributes, onInput, onKeyDown, list } = useCompletion(days, onType);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current !== null && field.current.value !== query) field.current.value = query;
  }, [query]);
  return (
    <div class="combobox">
      <input
        {...attributes}
        ref={field}
        name={name}
        role="combobox"
        aria-label={label}
        aria-describedby={errorId}
        aria-expanded={isShown}
        placeholder="tags:mirai port:23 NOT country_code:US"
        onInput={onInput}
        onKeyDown={onKeyDown}
      />
      {list}
    </div>
  );
}
