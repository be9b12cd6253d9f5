import { describeCondition } from "@noisefloor/domain/watches/describe-condition.ts";
import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { useKey } from "../../api/kept-key.ts";
import type { Watch } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useCurrentAnswer } from "../../api/use-current-answer.ts";
import { changeWatch, deleteWatch, newestEvents, watchOf } from "../../api/watches.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { pagePath } from "../../routing/paths.ts";
import { ActionFault } from "../../shell/action-fault.tsx";
import { NeedsKey } from "../../shell/needs-key.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { EventList } from "../watches/events/event-list.tsx";
import { WatchForm } from "../watches/form/watch-form.tsx";
import { Secrets } from "../watches/secrets.tsx";
import { Deliveries } from "./deliveries.tsx";
import { Destinations } from "./destinations.tsx";

/** `/watches/{id}`: what a watch waits for, what it found, and how its deliveries go. */
export function WatchPage() {
  const { id = "" } = useRoute().params;
  const { key } = useKey();
  if (key === "") {
    return (
      <>
        <h1>Watch</h1>
        <NeedsKey what="Watches" />
      </>
    );
  }
  return <WatchOfId key={`${id} ${key}`} id={id} />;
}

const SHOWN_EVENTS = 50;

function WatchOfId({ id }: { readonly id: string }) {
  const watch = useAnswer(watchOf(id));
  const events = useCurrentAnswer(newestEvents(id, SHOWN_EVENTS));
  const [saved, setSaved] = useState<Watch>();
  const name = watch.data?.name ?? "Watch";
  usePageTitle(name);
  const onSaved = (changed: Watch) => {
    setSaved(changed);
    watch.retry();
  };
  return (
    <>
      <h1>
        <Hostile text={name} />
      </h1>
      <Loaded of={watch} what="the watch">
        {(data) => (
          <>
            <Facts watch={data} />
            {saved === undefined ? null : <Secrets of={saved} />}
            <section aria-labelledby="events">
              <h2 id="events">Its events</h2>
              <Loaded of={events} what="the events">
                {(found) => (
                  <EventList events={found.events} namesWatch={false} whenEmpty="It has found nothing yet." />
                )}
              </Loaded>
            </section>
            <Destinations watch={data} />
            {data.deliver.length === 0 ? null : <Deliveries watch={data} events={events.data?.events ?? []} />}
            {data.origin === "file" ? null : <Definition watch={data} onSaved={onSaved} />}
          </>
        )}
      </Loaded>
    </>
  );
}

function Facts({ watch }: { readonly watch: Watch }) {
  const { on, repeat_after_hours: hours, since, enabled, origin } = watch;
  return (
    <>
      {enabled ? null : <p class="notice">This watch is disabled: it makes no events.</p>}
      {origin === "file" ? (
        <p class="notice">This watch is one of the file in WATCHES_FILE, which alone changes it.</p>
      ) : null}
      <dl class="facts">
        <div>
          <dt>Waits until</dt>
          <dd data-waits>
            <Hostile text={describeCondition(on)} />
          </dd>
        </div>
        {on.type === "new_value" || on.type === "sensor_silent" ? null : (
          <div>
            <dt>Tells of the same again</dt>
            <dd>{hours === 0 ? "never" : `after ${plural(hours, "hour")}`}</dd>
          </div>
        )}
        <div>
          <dt>Counts what is received since</dt>
          <dd>{formatMinute(since)}</dd>
        </div>
      </dl>
    </>
  );
}

type DefinitionProps = { readonly watch: Watch; readonly onSaved: (watch: Watch) => void };

function Definition({ watch, onSaved }: DefinitionProps) {
  const { route } = useLocation();
  const [isSure, setIsSure] = useState(false);
  const action = useAction();
  const toggle = async () => {
    const changed = await action.run(changeWatch(watch.id, { enabled: !watch.enabled }));
    if (changed !== undefined) onSaved(changed);
  };
  const remove = async () => {
    if ((await action.run(deleteWatch(watch.id))) !== undefined) route(pagePath("/watches"));
  };
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
      <WatchForm key={watch.updated_at} watch={watch} onSaved={onSaved} />
      <p class="actions">
        {isSure ? (
          <>
            <span>What it did not deliver is not delivered any more.</span>
            <button type="button" disabled={action.isRunning} onClick={() => void remove()}>
              Delete it
            </button>
            <button type="button" class="quiet" onClick={() => setIsSure(false)}>
              Keep it
            </button>
          </>
        ) : (
          <>
            <button type="button" class="quiet" disabled={action.isRunning} onClick={() => void toggle()}>
              {watch.enabled ? "Disable this watch" : "Enable this watch"}
            </button>
            <button type="button" class="quiet" onClick={() => setIsSure(true)}>
              Delete this watch
            </button>
          </>
        )}
      </p>
      <ActionFault message={action.message} />
    </section>
  );
}
