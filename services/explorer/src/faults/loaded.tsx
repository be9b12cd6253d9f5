import type { ComponentChildren } from "preact";
import { type ApiFailure, explain } from "../api/failure.ts";
import type { Loading } from "../api/use-answer.ts";
import { BASE } from "../routing/paths.ts";
import { visible } from "../text/hostile.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";

type LoadedProps<Answer> = {
  readonly of: Loading<Answer>;
  /** What is loading, for screen readers and slow answers. */
  readonly what: string;
  /** The id of the element that says why it is not there, for the field that it describes. */
  readonly errorId?: string | undefined;
  readonly children: (data: Answer) => ComponentChildren;
};

/** An answer when it is there; before that, that it loads; otherwise why it is not there and what to do. */
export function Loaded<Answer>({ of, what, errorId, children }: LoadedProps<Answer>) {
  if (of.failure !== undefined) return <FailureNotice id={errorId} failure={of.failure} retry={of.retry} />;
  if (of.data === undefined) {
    return (
      <p class="loading" role="status">
        Loading {what} …
      </p>
    );
  }
  return (
    <div class={of.isLoading ? "outdated" : ""} aria-busy={of.isLoading}>
      <ErrorBoundary resetOn={of.data} retry={of.retry}>
        <Answer data={of.data} show={children} />
      </ErrorBoundary>
    </div>
  );
}

type AnswerProps<Data> = { readonly data: Data; readonly show: (data: Data) => ComponentChildren };

/** A component of its own, so that an answer with other members than the API promises fails in here. */
function Answer<Data>({ data, show }: AnswerProps<Data>) {
  return <>{show(data)}</>;
}

type FailureNoticeProps = {
  readonly id: string | undefined;
  readonly failure: ApiFailure;
  readonly retry: () => void;
};

function FailureNotice({ id, failure, retry }: FailureNoticeProps) {
  const { title, remedy } = explain(failure.status);
  return (
    <div id={id} class="notice failure" role="alert" data-status={failure.status}>
      <h3>{title}</h3>
      <p>{remedy}</p>
      {failure.message === "" ? null : <p class="faint">The service says: {visible(failure.message)}</p>}
      <p class="actions">
        <button type="button" onClick={retry}>
          Try again
        </button>
        {failure.status === 429 ? <a href={`${BASE}/plans`}>What the plans allow</a> : null}
      </p>
    </div>
  );
}
