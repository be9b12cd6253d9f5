import { describeCondition } from "@noisefloor/domain/watches/describe-condition.ts";
import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useKey } from "../../api/kept-key.ts";
import type { Watch } from "../../api/operations.ts";
import { useCurrentAnswer } from "../../api/use-current-answer.ts";
import { allWatches, newestEvents } from "../../api/watches.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { newWatchPath, watchPath } from "../../routing/paths.ts";
import { useParameters } from "../../routing/use-parameters.ts";
import { NeedsKey } from "../../shell/needs-key.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatAgo, formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { EventList } from "./events/event-list.tsx";
import { emptyCondition, KINDS } from "./form/condition-fields.tsx";
import { defaultHours, WatchForm } from "./form/watch-form.tsx";
import { Secrets, secretsIn } from "./secrets.tsx";

/** `/watches`: what a workspace waits for, what was found, and a new watch. */
export function WatchesPage() {
  usePageTitle("Watches");
  const { key } = useKey();
  return (
    <>
      <h1>Watches</h1>
      <p class="lead">They wait for something to happen and tell of it: here, and by webhook, chat, mail or syslog.</p>
      {key === "" ? <NeedsKey what="Watches" /> : <OfWorkspace key={key} />}
    </>
  );
}

const SHOWN_EVENTS = 25;

function OfWorkspace() {
  const { values } = useParameters({ kind: "", value: "" });
  const watches = useCurrentAnswer(allWatches());
  const events = useCurrentAnswer(newestEvents("", SHOWN_EVENTS));
  return (
    <>
      {values.kind === "" ? null : (
        <NewWatch key={`${values.kind} ${values.value}`} {...values} onMade={watches.retry} />
      )}
      <section aria-labelledby="watches">
        <div class="bar-of-choices">
          <h2 id="watches">Watches of this workspace</h2>
          <a href={newWatchPath("network_seen", "")}>A new watch</a>
        </div>
        <Loaded of={watches} what="the watches">
          {(data) => <WatchTable watches={data.watches} />}
        </Loaded>
      </section>
      <section aria-labelledby="events">
        <h2 id="events">The newest events</h2>
        <Loaded of={events} what="the events">
          {(data) => <EventList events={data.events} namesWatch whenEmpty="Nothing was found yet." />}
        </Loaded>
      </section>
    </>
  );
}

type NewWatchProps = { readonly kind: string; readonly value: string; readonly onMade: () => void };

function NewWatch({ kind, value, onMade }: NewWatchProps) {
  const { route } = useLocation();
  const [made, setMade] = useState<Watch>();
  const [type] = KINDS.find(([one]) => one === kind) ?? KINDS[0];
  const on = emptyCondition(type, value);
  const isFilled = value !== "" || type === "sensor_silent";
  const onSaved = (watch: Watch) => {
    if (secretsIn(watch).length === 0) route(watchPath(watch.id));
    setMade(watch);
    onMade();
  };
  return (
    <section aria-labelledby="new-watch">
      <h2 id="new-watch">A new watch</h2>
      {made === undefined ? (
        <WatchForm
          watch={{
            id: "",
            name: isFilled ? describeCondition(on).slice(0, 200) : "",
            on,
            repeat_after_hours: defaultHours(type),
            enabled: true,
            deliver: [],
          }}
          onSaved={onSaved}
        />
      ) : (
        <>
          <p>
            The watch is made:{" "}
            <a href={watchPath(made.id)}>
              <Hostile text={made.name} />
            </a>
          </p>
          <Secrets of={made} />
        </>
      )}
    </section>
  );
}

const COLUMNS: readonly Column<Watch>[] = [
  { heading: "Watch", by: ({ name }) => name },
  { heading: "Waits until", by: ({ on }) => describeCondition(on) },
  { heading: "Last event", by: ({ last_event_at: time }) => time },
  { heading: { number: "Undelivered" }, by: ({ undelivered }) => undelivered },
];

function WatchTable({ watches }: { readonly watches: readonly Watch[] }) {
  const { sorted, head } = useSorted(watches, COLUMNS);
  if (watches.length === 0) return <p class="empty">This workspace has no watch yet.</p>;
  return (
    <ScrollRegion label="Watches">
      <table>
        <caption class="hidden">Watches of the workspace</caption>
        {head}
        <tbody>
          {sorted.map((watch) => (
            <tr key={watch.id} data-watch={watch.id}>
              <th scope="row">
                <a href={watchPath(watch.id)}>
                  <Hostile text={watch.name} />
                </a>{" "}
                <span class="faint">
                  {watch.enabled ? "" : "disabled"} {watch.origin === "file" ? "of a file" : ""}
                </span>
              </th>
              <td>
                <Hostile text={describeCondition(watch.on)} />
              </td>
              <td class="when">{watch.last_event_at === "" ? "none" : formatAgo(watch.last_event_at, Date.now())}</td>
              <td class="number">{formatCount(watch.undelivered)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
