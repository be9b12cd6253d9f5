import { useState } from "preact/hooks";
import type { Watch, WatchTest } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { testWatch } from "../../api/watches.ts";
import { ActionFault } from "../../shell/action-fault.tsx";
import { Hostile } from "../../text/hostile.tsx";
import { DestinationText } from "../watches/destination-text.tsx";

/** Where the events of a watch go, with a test of it. */
export function Destinations({ watch: { id, deliver, origin } }: { readonly watch: Watch }) {
  const action = useAction();
  const [came, setCame] = useState<WatchTest>();
  const test = async () => {
    setCame(undefined);
    setCame(await action.run(testWatch(id)));
  };
  return (
    <section aria-labelledby="destinations">
      <h2 id="destinations">Where they go</h2>
      {deliver.length === 0 ? (
        <p class="empty">Nowhere: they are shown here, and fetched by API, as a stream or as a feed for readers.</p>
      ) : (
        <>
          <ul class="tags">
            {deliver.map((destination) => (
              <li key={destination.id} data-destination={destination.id}>
                <DestinationText {...destination} />
              </li>
            ))}
          </ul>
          {origin === "api" && deliver.some(({ off }) => off) ? (
            <p class="faint">To save the watch switches on what is off.</p>
          ) : null}
          <p class="actions">
            <button type="button" disabled={action.isRunning} onClick={() => void test()}>
              Send a test
            </button>
            <span role="status" data-came={came === undefined ? undefined : came.success}>
              {action.isRunning ? "Sending …" : came === undefined ? "" : <WhatCame {...came} />}
            </span>
          </p>
        </>
      )}
      <ActionFault message={action.message} />
    </section>
  );
}

function WhatCame({ success, status_code: status, response_body: body }: WatchTest) {
  return (
    <>
      {success ? "Every destination took it" : "A destination did not take it"}
      {status === 0 ? "" : `, with HTTP ${status}`}
      {body === "" ? (
        "."
      ) : (
        <>
          : <Hostile text={body} />
        </>
      )}
    </>
  );
}
