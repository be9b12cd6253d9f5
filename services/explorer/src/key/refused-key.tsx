import { keepKey } from "../api/kept-key.ts";
import { REFUSED } from "./key-button.tsx";

/** Instead of a page, all of whose answers the service would refuse. */
export function RefusedKey({ value }: { readonly value: string }) {
  return (
    <>
      <h1>Your key is not accepted</h1>
      <div class="notice failure" role="alert" data-status={401}>
        <p>{REFUSED} The button Key at the top takes another one.</p>
        <p class="actions">
          <button type="button" onClick={() => keepKey(value)}>
            Try again
          </button>
          <button type="button" class="quiet" onClick={() => keepKey("")}>
            Forget the key
          </button>
        </p>
      </div>
    </>
  );
}
