import { useCompletion } from "./use-completion.tsx";

type QueryInputProps = {
  readonly name: string;
  readonly query: string;
  readonly label: string;
  /** The id of the element that says what is wrong with the query. */
  readonly errorId: string;
};

/** A field for a query, which suggests fields and values. Without a choice among them Enter runs the query. */
export function QueryInput({ name, query, label, errorId }: QueryInputProps) {
  const { isShown, attributes, onInput, onKeyDown, list } = useCompletion();
  return (
    <div class="combobox">
      <input
        {...attributes}
        name={name}
        defaultValue={query}
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
