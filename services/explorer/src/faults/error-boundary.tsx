import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useRef } from "preact/hooks";
import { CopyButton } from "../shell/controls/copy-button.tsx";
import { describeFault } from "./fault.ts";

type ErrorBoundaryProps = {
  /** After a change of it the content is tried again. */
  readonly resetOn?: unknown;
  /** Called for a retry; without it the content is rendered again. */
  readonly retry?: () => void;
  readonly children: ComponentChildren;
};

/** Its content; after an error in it, what went wrong and whom to tell. */
export function ErrorBoundary({ resetOn, retry, children }: ErrorBoundaryProps) {
  const [error, reset] = useErrorBoundary((caught: unknown) => reportError(caught));
  const triedWith = useRef(resetOn);
  useEffect(() => {
    if (triedWith.current === resetOn) return;
    triedWith.current = resetOn;
    reset();
  }, [resetOn]);
  if (error === undefined) return <>{children}</>;
  const details = describeFault(error);
  return (
    <div class="notice failure" role="alert" data-fault>
      <h2>This could not be shown</h2>
      <p>
        The answer of the service was not as expected, or these pages have a fault. Try again. If it happens again,
        please report it to those who run this service, with this text:
      </p>
      <pre>{details}</pre>
      <p class="actions">
        <button type="button" onClick={retry ?? reset}>
          Try again
        </button>
        <CopyButton text={details}>Copy the text</CopyButton>
      </p>
    </div>
  );
}
