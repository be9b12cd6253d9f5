import { useRef } from "preact/hooks";
import { setKey, useKey } from "../api/key.ts";

/** Where the key is entered and forgotten. It stays in this tab, and never gets into a URL. */
export function KeyButton() {
  const dialog = useRef<HTMLDialogElement>(null);
  const key = useKey();
  const use = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    setKey(String(new FormData(event.currentTarget).get("key") ?? "").trim());
    event.currentTarget.reset();
    dialog.current?.close();
  };
  const forget = () => {
    setKey("");
    dialog.current?.close();
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
        {key === "" ? "Key" : "Key: set"}
      </button>
      <dialog ref={dialog} aria-labelledby="key-title">
        <form onSubmit={use}>
          <h2 id="key-title">Your key</h2>
          <p>
            Without a key you see what everyone may see. With one, your plan says how much you may ask. This tab keeps
            the key until you close it.
          </p>
          <label>
            Key
            <input name="key" type="password" autocomplete="off" required maxLength={200} />
          </label>
          <p class="actions">
            <button type="submit">Use this key</button>
            {key === "" ? null : (
              <button type="button" class="quiet" onClick={forget}>
                Forget the key
              </button>
            )}
            <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </p>
        </form>
      </dialog>
    </>
  );
}
