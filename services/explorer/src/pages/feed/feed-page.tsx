import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { deleteFeed, feedOf } from "../../api/feeds.ts";
import { useKey } from "../../api/kept-key.ts";
import type { Feed } from "../../api/operations.ts";
import { validationOf } from "../../api/questions.ts";
import { useAction } from "../../api/use-action.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { pagePath, searchPath } from "../../routing/paths.ts";
import { QueryWarnings } from "../../search/query-warnings.tsx";
import { ActionFault } from "../../shell/action-fault.tsx";
import { NeedsKey } from "../../shell/needs-key.tsx";
import { formatAgo, formatCount, plural } from "../../text/format.ts";
import { Hostile, Prose } from "../../text/hostile.tsx";
import { FeedForm } from "../feeds/feed-form.tsx";
import { Changes } from "./changes.tsx";
import { FirstAddresses } from "./first-addresses.tsx";
import { Forms } from "./forms.tsx";
import { HeldBackAddresses } from "./held-back.tsx";
import { History } from "./history.tsx";
import { Recipes } from "./recipes.tsx";
import { Tokens } from "./tokens.tsx";

/** `/feeds/{name}`: what a feed lists, what changed in it, who reads it, and what consumers need. */
export function FeedPage() {
  const { name = "" } = useRoute().params;
  const { key } = useKey();
  usePageTitle(name);
  return (
    <>
      <h1>
        <Hostile text={name} />
      </h1>
      {key === "" ? <NeedsKey what="Feeds" /> : <NamedFeed key={`${name} ${key}`} name={name} />}
    </>
  );
}

function NamedFeed({ name }: { readonly name: string }) {
  const feed = useAnswer(feedOf(name));
  const [token, setToken] = useState("");
  return (
    <Loaded of={feed} what="the feed">
      {(data) => (
        <>
          <Size feed={data} />
          {data.enabled ? <FirstAddresses key={data.cursor} name={data.name} /> : null}
          {data.enabled ? <Forms name={data.name} of={data.of} /> : null}
          {data.enabled ? <Changes feed={data} /> : null}
          <History name={data.name} />
          {data.enabled && data.guarded > 0 ? <HeldBackAddresses name={data.name} /> : null}
          <Tokens name={data.name} token={token} onCreated={setToken} />
          <Recipes id={data.id} name={data.name} of={data.of} token={token} />
          {data.ready_made ? null : <Definition feed={data} onSaved={feed.retry} />}
        </>
      )}
    </Loaded>
  );
}

function Size({ feed }: { readonly feed: Feed }) {
  const { query, days, description, count, guard, guarded, truncated, limit, kept, refreshed_at: refreshed } = feed;
  const { left_out_spoofable: forgeable } = feed;
  return (
    <>
      {description === "" ? null : (
        <p class="lead">
          <Prose text={description} />
        </p>
      )}
      {feed.enabled ? null : <p class="notice">This feed is disabled: its readers get a 410.</p>}
      <dl class="facts">
        <div>
          <dt>{feed.of === "callbacks" ? "Hosts that are called" : "Addresses"}</dt>
          <dd data-count>{formatCount(count)}</dd>
        </div>
        <div>
          <dt>Held back by the guard</dt>
          <dd data-guarded-count>{guard ? formatCount(guarded) : "nothing is held back"}</dd>
        </div>
        {feed.of === "callbacks" ? (
          <div>
            <dt>Known hosts of code and files, held back</dt>
            <dd>{formatCount(feed.held_back)}</dd>
          </div>
        ) : null}
        {forgeable > 0 ? (
          <div>
            <dt>Left out: could be forged</dt>
            <dd data-left-out>{formatCount(forgeable)}</dd>
          </div>
        ) : null}
        <div>
          <dt>Refreshed</dt>
          <dd>{refreshed === "" ? "not yet" : formatAgo(refreshed, Date.now())}</dd>
        </div>
        <div>
          <dt>Search{days === 0 ? "" : ` in the last ${plural(days, "day")}`}</dt>
          <dd>
            <a href={searchPath(query, days === 0 ? "" : String(days))}>
              <code>
                <Hostile text={query} />
              </code>
            </a>
            {guard && guarded > 0 ? <span class="faint hint"> It finds those that are held back, too.</span> : null}
          </dd>
        </div>
      </dl>
      {feed.fell_from > 0 ? (
        <p class="notice">
          At one refresh in the last day the list fell by half or more, from {formatCount(feed.fell_from)} hosts.
          {kept > 0 ? ` ${formatCount(kept)} that are no longer found are kept for an hour.` : null}
        </p>
      ) : null}
      {truncated ? (
        <p class="notice">
          There are more: the feed lists the {formatCount(limit)} that were seen or named last, which is its limit.
        </p>
      ) : null}
    </>
  );
}

type DefinitionProps = { readonly feed: Feed; readonly onSaved: () => void };

function Definition({ feed, onSaved }: DefinitionProps) {
  const { route } = useLocation();
  const [isSure, setIsSure] = useState(false);
  const action = useAction();
  const { data: checked } = useAnswer(validationOf(feed.query));
  const remove = async () => {
    if ((await action.run(deleteFeed(feed.name))) !== undefined) route(pagePath("/feeds"));
  };
  return (
    <section aria-labelledby="definition">
      <h2 id="definition">Definition</h2>
      <QueryWarnings warnings={checked?.warnings ?? []} />
      <FeedForm key={feed.updated_at} feed={feed} onSaved={onSaved} />
      <p class="actions">
        {isSure ? (
          <>
            <span>Its readers get a 410, and its tokens are revoked.</span>
            <button type="button" disabled={action.isRunning} onClick={() => void remove()}>
              Delete {feed.name}
            </button>
            <button type="button" class="quiet" onClick={() => setIsSure(false)}>
              Keep it
            </button>
          </>
        ) : (
          <button type="button" class="quiet" onClick={() => setIsSure(true)}>
            Delete this feed
          </button>
        )}
      </p>
      <ActionFault message={action.message} />
    </section>
  );
}
