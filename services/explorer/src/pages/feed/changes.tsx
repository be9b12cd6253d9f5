import { useEffect, useState } from "preact/hooks";
import { changesOf } from "../../api/feeds.ts";
import type { Feed, FeedChanges } from "../../api/operations.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { addressPath } from "../../routing/paths.ts";
import { formatAgo, formatChange, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { type KeptCursor, keepCursor, readCursor } from "./kept-cursor.ts";

const SHOWN = 50;
const GONE = 410;

/** What came into a feed and what left it since this browser saw it first, or since its reader began anew. */
export function Changes({ feed }: { readonly feed: Feed }) {
  const { id, name, cursor, count, refreshed_at: at } = feed;
  const [kept, setKept] = useState(() => readCursor(id));
  const keep = () => {
    const now = { cursor, at, count };
    keepCursor(id, now);
    setKept(now);
  };
  const changes = useAnswer(kept === undefined || cursor === "" ? undefined : changesOf(name, kept.cursor));
  const isTooOld = changes.failure?.status === GONE;
  useEffect(() => {
    if (cursor !== "" && (kept === undefined || isTooOld)) keep();
  }, [cursor, isTooOld]);
  if (kept === undefined || cursor === "" || isTooOld) return null;
  return (
    <section aria-labelledby="changes">
      <div class="bar-of-choices">
        <h2 id="changes">What has changed</h2>
        <button type="button" class="quiet" onClick={keep}>
          Count from now on
        </button>
      </div>
      <Loaded of={changes} what="what has changed">
        {(data) => <Changed changes={data} kept={kept} count={count} />}
      </Loaded>
    </section>
  );
}

type ChangedProps = { readonly changes: FeedChanges; readonly kept: KeptCursor; readonly count: number };

function Changed({ changes: { added, removed }, kept, count }: ChangedProps) {
  return (
    <>
      <p data-changes>
        Since {formatMinute(kept.at)}, {formatAgo(kept.at, Date.now())}: <strong>{plural(added.length, "host")}</strong>{" "}
        came, <strong>{plural(removed.length, "host")}</strong> left, {formatChange(count, kept.count)} in all.
      </p>
      <Hosts heading="New" hosts={added.map(({ ip, host = ip }) => host ?? "")} />
      <Hosts heading="Gone" hosts={removed.map(({ ip, host = ip }) => host ?? "")} />
    </>
  );
}

const isAddress = (host: string) => /^[\d.]+$/.test(host);

function Hosts({ heading, hosts }: { readonly heading: string; readonly hosts: readonly string[] }) {
  if (hosts.length === 0) return null;
  return (
    <>
      <h3>{heading}</h3>
      <ul class="addresses">
        {hosts.slice(0, SHOWN).map((host) => (
          <li key={host}>{isAddress(host) ? <a href={addressPath(host)}>{host}</a> : <Hostile text={host} />}</li>
        ))}
      </ul>
      {hosts.length > SHOWN ? <p class="faint hint">The first {SHOWN} of them.</p> : null}
    </>
  );
}
