import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { Callback, Callbacks } from "../../api/operations.ts";
import { allCallbacks } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { searchPath } from "../../routing/paths.ts";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { Choice } from "../../shell/controls/choice.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Hostile, HostileLines } from "../../text/hostile.tsx";

const MAX_SHOWN = 200;
const DEFAULTS = { query: "", days: "", known: "false" };
const DAYS = [
  ["", "all that is stored"],
  ["1", "the last day"],
  ["7", "the last 7 days"],
  ["30", "the last 30 days"],
] as const;
const KNOWN = [
  ["false", "without well-known hosts"],
  ["", "all hosts"],
  ["true", "well-known hosts alone"],
] as const;
const valuesOf = <Value extends string>(options: readonly (readonly [Value, string])[]) =>
  options.map(([value]) => value);

/** `/callbacks`: the hosts that visitors told sensors to fetch from or to connect to. */
export function CallbacksPage() {
  usePageTitle("Callbacks");
  const { values, set } = useParameters(DEFAULTS);
  const days = oneOf(valuesOf(DAYS), values.days, "");
  const known = oneOf(valuesOf(KNOWN), values.known, "false");
  const callbacks = useAnswer(allCallbacks({ query: values.query, days, known, limit: MAX_SHOWN }));
  const find = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    set({ query: String(new FormData(event.currentTarget).get("query") ?? "").trim() });
  };
  return (
    <>
      <h1>Callbacks</h1>
      <p class="lead">
        The hosts that visitors told sensors to fetch from or to connect to. A machine of yours that talks to one of
        them is likely infected.
      </p>
      <form class="filters" aria-label="Which callbacks" onSubmit={find}>
        <label class="choice">
          Visitors
          <input
            name="query"
            key={values.query}
            defaultValue={values.query}
            placeholder="tags:mirai"
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        <button type="submit">Show</button>
        <Choice label="Of" name="days" options={DAYS} value={days} onChoose={(chosen) => set({ days: chosen })} />
        <Choice
          label="Hosts"
          name="known"
          options={KNOWN}
          value={known}
          onChoose={(chosen) => set({ known: chosen })}
        />
      </form>
      <Loaded of={callbacks} what="the callbacks">
        {(data) => <Found {...data} days={days} />}
      </Loaded>
      <p class="faint">
        Nothing here is resolved or fetched. Well-known hosts of code and files stand in no feed: whoever blocks them
        breaks their own updates.
      </p>
    </>
  );
}

type DaysProps = { readonly days: string };

function Found({ count, callbacks, days }: Callbacks & DaysProps) {
  if (count === 0) return <p class="empty">No visitor named a host.</p>;
  const more = count - callbacks.length;
  return (
    <>
      <p data-count={count}>
        {plural(count, "host")}
        {more === 0 ? "" : `, of which the ${formatCount(callbacks.length)} named last are below`}.
      </p>
      <CallbackTable callbacks={callbacks} days={days} />
    </>
  );
}

const COLUMNS: readonly Column<Callback>[] = [
  { heading: "Host", by: ({ host }) => host },
  { heading: "Known as", by: ({ known_as: as }) => as },
  { heading: "Ports" },
  { heading: { number: "Visitors" }, by: ({ visitors }) => visitors },
  { heading: "First named", by: ({ first_seen: first }) => first },
  { heading: "Last named", by: ({ last_seen: last }) => last },
];

function CallbackTable({ callbacks, days }: { readonly callbacks: readonly Callback[] } & DaysProps) {
  const { sorted, head } = useSorted(callbacks, COLUMNS);
  const [opened, setOpened] = useState<string>();
  return (
    <ScrollRegion label="Callbacks">
      <table>
        {head}
        <tbody>
          {sorted.map((callback) => {
            const { host } = callback;
            const isOpen = opened === host;
            return (
              <Fragment key={host}>
                <tr data-host={host}>
                  <th scope="row">
                    <button
                      type="button"
                      class="link"
                      aria-expanded={isOpen}
                      onClick={() => setOpened(isOpen ? undefined : host)}
                    >
                      <code>
                        <Hostile text={host} />
                      </code>
                    </button>
                  </th>
                  <td>
                    <Hostile text={callback.known_as} />
                  </td>
                  <td>{callback.ports.join(", ")}</td>
                  <td class="number">
                    <a href={searchPath(`callback:"${host}"`, days)}>{formatCount(callback.visitors)}</a>
                  </td>
                  <td>{formatMinute(callback.first_seen)}</td>
                  <td>{formatMinute(callback.last_seen)}</td>
                </tr>
                {isOpen ? (
                  <tr>
                    <td colSpan={COLUMNS.length}>
                      <Said of={callback} />
                    </td>
                  </tr>
                ) : null}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

/** What visitors said of a host: text, and never a link. */
function Said({ of: { commands, urls, sha256 } }: { readonly of: Callback }) {
  const lists = [
    ["What named it", commands],
    ["To fetch or connect to", urls],
    ["Files that were fetched (SHA-256)", sha256],
  ] as const;
  return lists
    .filter(([, lines]) => lines.length > 0)
    .map(([heading, lines]) => (
      <div key={heading}>
        <p class="faint">{heading}, the newest first</p>
        <pre>
          <HostileLines lines={lines} />
        </pre>
      </div>
    ));
}
