import { useEffect, useRef, useState } from "preact/hooks";
import { isKeptForAllTabs, keepKey, useKey } from "../api/kept-key.ts";
import { whyNot } from "./check-key.ts";

/** Where the key is entered and forgotten. It never gets into a URL. */
export function KeyButton() {
  const dialog = useRef<HTMLDialogElement>(null);
  const { key, isRefused } = useKey();
  const [state, setState] = useState<"checking" | { readonly message: string }>(NOTHING);
  useEffect(() => {
    if (isRefused && dialog.current?.open === false) dialog.current.showModal();
  }, [isRefused]);
  const take = (taken: string) => {
    keepKey(taken);
    setState(NOTHING);
    dialog.current?.close();
  };
  const use = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    const entered = String(new FormData(form).get("key") ?? "").trim();
    setState("checking");
    const message = await whyNot(entered);
    if (message !== undefined) return setState({ message });
    form.reset();
    // Not if it was cancelled meanwhile.
    if (dialog.current?.open === true) take(entered);
  };
  const isChecking = state === "checking";
  const fault = isChecking ? "" : state.message;
  return (
    <>
      <button type="button" class="quiet" onClick={() => dialog.current?.showModal()}>
        {isRefused ? "Key: not accepted" : key === "" ? "Key" : "Key: set"}
      </button>
      <dialog ref={dialog} aria-labelledby="key-title" onClose={() => setState(NOTHING)}>
        <form onSubmit={use}>
          <h2 id="key-title">Your key</h2>
          {isRefused ? <p class="notice failure">{REFUSED}</p> : null}
          <p>
            Without a key you see what everyone may see. With one, your plan says how much you may ask.{" "}
            {isKeptForAllTabs()
              ? "This browser keeps the key for all its tabs, until you forget it here."
              : "This browser allows no storage: the key is lost when the page is loaded again."}
          </p>
          <label>
            Key
            <input
              name="key"
              type="password"
              autocomplete="off"
              required
              maxLength={200}
              aria-describedby={fault === "" ? undefined : "key-fault"}
            />
          </label>
          {fault === "" ? null : (
            <p id="key-fault" class="message" role="alert">
              {fault}
            </p>
          )}
          <p class="actions">
            <button type="submit" disabled={isChecking}>
              {isChecking ? "Checking …" : "Use this key"}
            </button>
            {key === "" ? null : (
              <button type="button" class="quiet" onClick={() => take("")}>
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

const NOTHING = { message: "" };
export const REFUSED =
  "The service no longer knows the key that this browser keeps: it may have been revoked. Enter another one, or forget it.";
