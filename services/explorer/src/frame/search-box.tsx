import { useId, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useCompletion } from "../search/completion/use-completion.tsx";
import { parseSearch } from "../search/parse-search.ts";

const MAX_ROWS = 6;
/** Chromium inserts longer texts line by line, which takes it a minute for ten thousand lines. */
const MAX_INSERTED_CHARACTERS = 4_000;

/** Takes what was typed or pasted. Several lines stay lines, which a one-line field would join without a separator. */
export function SearchBox({ isLarge = false }: { readonly isLarge?: boolean }) {
  const { route } = useLocation();
  const [message, setMessage] = useState("");
  const [rows, setRows] = useState(1);
  const id = useId();
  const completion = useCompletion();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const result = parseSearch(String(new FormData(event.currentTarget).get("search") ?? ""));
    setMessage("message" in result ? result.message : "");
    if (!("path" in result)) return;
    setRows(1);
    completion.close();
    route(result.path);
    if (result.state !== undefined) history.replaceState(result.state, "");
  };
  const fit = ({ currentTarget }: Event) => {
    if (currentTarget instanceof HTMLTextAreaElement)
      setRows(Math.min(MAX_ROWS, currentTarget.value.split("\n").length));
  };
  const pasteAtOnce = (event: ClipboardEvent) => {
    const { currentTarget: box } = event;
    const text = event.clipboardData?.getData("text") ?? "";
    if (text.length <= MAX_INSERTED_CHARACTERS || !(box instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
    fit(event);
  };
  const submitOnEnter = (event: KeyboardEvent) => {
    completion.onKeyDown(event);
    if (event.defaultPrevented) return;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (event.currentTarget instanceof HTMLTextAreaElement) event.currentTarget.form?.requestSubmit();
  };
  return (
    <search class={isLarge ? "large" : ""}>
      <form onSubmit={search}>
        <div class="combobox">
          <textarea
            {...completion.attributes}
            name="search"
            rows={rows}
            wrap="off"
            enterkeyhint="search"
            onInput={(event) => {
              fit(event);
              completion.onInput(event);
            }}
            onPaste={pasteAtOnce}
            onFocus={fit}
            onKeyDown={submitOnEnter}
            aria-label="Address, network, name, CVE or query"
            aria-keyshortcuts="/"
            aria-describedby={message === "" ? undefined : id}
            placeholder={
              isLarge
                ? "192.175.48.6, AS4134, ssh, CVE-2024-3094, port:23 country:DE"
                : "Address, network, name or query"
            }
          />
          {completion.list}
        </div>
        <button type="submit">Search</button>
      </form>
      <p id={id} class="message" role="status">
        {message}
      </p>
      {isLarge ? (
        <p class="faint">Or paste many: a list, a log, the header of a mail, also written like 192[.]175[.]48[.]6</p>
      ) : null}
    </search>
  );
}
