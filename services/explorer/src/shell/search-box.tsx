import { useId, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { parseSearch } from "../search/parse-search.ts";

export function SearchBox({ isLarge = false }: { readonly isLarge?: boolean }) {
  const { route } = useLocation();
  const [message, setMessage] = useState("");
  const id = useId();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const result = parseSearch(String(new FormData(event.currentTarget).get("search") ?? ""));
    setMessage("message" in result ? result.message : "");
    if ("path" in result) route(result.path);
  };
  return (
    <search class={isLarge ? "large" : ""}>
      <form onSubmit={search}>
        <input
          name="search"
          aria-label="Address, network, tag or CVE"
          aria-keyshortcuts="/"
          aria-describedby={message === "" ? undefined : id}
          placeholder={isLarge ? "192.175.48.6, 192.175.48.0/24, ssh, CVE-2024-3094" : "Address, network, tag or CVE"}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          maxLength={200}
        />
        <button type="submit">Search</button>
      </form>
      <p id={id} class="message" role="status">
        {message}
      </p>
    </search>
  );
}
