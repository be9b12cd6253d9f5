import type { Entry } from "@noisefloor/domain/pasted-text/find-addresses.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { contextsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { readList } from "../../search/list-link.ts";
import { formatCount, plural } from "../../text/format.ts";
import { GoOn } from "./go-on.tsx";
import { NotLookedUp } from "./not-looked-up.tsx";
import { Results } from "./results.tsx";

/** Max addresses in one request to the API. */
const MAX_ADDRESSES = 10_000;

/** More are asked for their verdicts alone: all that is known of ten thousand is some hundred megabytes. */
const MAX_DETAILED = 1_000;

/** `/addresses`: what is known of each of many addresses. */
export function AddressesPage() {
  usePageTitle("Addresses");
  const entries = useList();
  if (entries === undefined) {
    return (
      <>
        <h1>Addresses</h1>
        <p class="notice">
          This list was too long for a link. Only the tab that it was pasted into has it: paste it again.
        </p>
      </>
    );
  }
  if (entries.length === 0) {
    return (
      <>
        <h1>Addresses</h1>
        <p class="notice">Paste addresses into the search at the top: a list, a log or the header of a mail.</p>
      </>
    );
  }
  return <List key={entries.map(({ text }) => text).join()} entries={entries} />;
}

/** The list changes with the fragment of the URL, of which the router takes no notice. */
function useList(): readonly Entry[] | undefined {
  const { url } = useLocation();
  const [list, setList] = useState(() => readList(history, location));
  useEffect(() => {
    const update = () => setList(readList(history, location));
    update();
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, [url]);
  return list;
}

function List({ entries }: { readonly entries: readonly Entry[] }) {
  const addresses = entries.filter(({ kind }) => kind === "address").map(({ text }) => text);
  const asked = addresses.slice(0, MAX_ADDRESSES);
  const isQuick = asked.length > MAX_DETAILED;
  const question = useMemo(() => (asked.length === 0 ? undefined : contextsOf(asked, isQuick)), []);
  const contexts = useAnswer(question);
  const left = addresses.length - asked.length;
  return (
    <>
      <h1>{plural(addresses.length, "address", "addresses")}</h1>
      <p class="lead">Each that is looked up counts as a lookup; repeated ones count once.</p>
      {left === 0 ? null : (
        <p class="notice">
          The service answers {formatCount(MAX_ADDRESSES)} addresses per request: the last {formatCount(left)} were not
          looked up.
        </p>
      )}
      {isQuick ? (
        <p class="notice">
          Of up to {formatCount(MAX_DETAILED)} addresses this page also shows when each was seen last, its tags and its
          network.
        </p>
      ) : null}
      <GoOn entries={entries} />
      {question === undefined ? (
        <p class="empty">There is no address to look up.</p>
      ) : (
        <Loaded of={contexts} what={`what is known of ${plural(asked.length, "address", "addresses")}`}>
          {({ data }) => <Results asked={asked} found={data} hasDetails={!isQuick} />}
        </Loaded>
      )}
      <NotLookedUp entries={entries.filter(({ kind }) => kind !== "address")} />
    </>
  );
}
