import { allFeeds } from "../../api/feeds.ts";
import { useKey } from "../../api/kept-key.ts";
import type { Feed } from "../../api/operations.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { feedPath } from "../../routing/paths.ts";
import { useParameters } from "../../routing/use-parameters.ts";
import { NeedsKey } from "../../shell/needs-key.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatAgo, formatCount } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { FeedForm } from "./feed-form.tsx";
import { Guard } from "./guard.tsx";

/** `/feeds`: the lists of a workspace for firewalls and others, a new one, and what none of them lists. */
export function FeedsPage() {
  usePageTitle("Feeds");
  const { key } = useKey();
  return (
    <>
      <h1>Feeds</h1>
      <p class="lead">
        Searches with a name, refreshed each minute, as lists that firewalls, intrusion detection and threat platforms
        read.
      </p>
      {key === "" ? <NeedsKey what="Feeds" /> : <OfWorkspace key={key} />}
    </>
  );
}

function OfWorkspace() {
  const { values } = useParameters({ query: "", days: "" });
  const feeds = useAnswer(allFeeds());
  return (
    <>
      <section aria-labelledby="feeds">
        <h2 id="feeds">Lists of this workspace</h2>
        <Loaded of={feeds} what="the feeds">
          {(data) => <FeedTable feeds={data.feeds} />}
        </Loaded>
        <p class="faint">
          Ready-made besides these: a feed for each tag, of its addresses of the last seven days, named{" "}
          <code>tag-SLUG</code>.
        </p>
      </section>
      <section aria-labelledby="new-feed">
        <h2 id="new-feed">A new feed</h2>
        <FeedForm
          key={`${values.query} ${values.days}`}
          feed={{ ...NEW_FEED, query: values.query, days: Number(values.days) || 0 }}
        />
      </section>
      <Guard />
    </>
  );
}

const DEFAULTS = {
  of: "visitors",
  limit: 100_000,
  guard: true,
  keep_fallen: false,
  enabled: true,
} as const;
const NEW_FEED = { name: "", description: "", ...DEFAULTS };

const COLUMNS: readonly Column<Feed>[] = [
  { heading: "Feed", by: ({ name }) => name },
  { heading: { number: "Hosts" }, by: ({ count }) => count },
  { heading: { number: "Held back" }, by: ({ guarded }) => guarded },
  { heading: "Refreshed", by: ({ refreshed_at: time }) => time },
  { heading: "Search", by: ({ query }) => query },
];

function FeedTable({ feeds }: { readonly feeds: readonly Feed[] }) {
  const { sorted, head } = useSorted(feeds, COLUMNS);
  return (
    <ScrollRegion label="Feeds">
      <table>
        <caption class="hidden">Feeds of the workspace</caption>
        {head}
        <tbody>
          {sorted.map((feed) => (
            <tr key={feed.id} data-feed={feed.name}>
              <th scope="row">
                <a href={feedPath(feed.name)}>{feed.name}</a>{" "}
                <span class="faint">{feed.ready_made ? "ready-made" : feed.enabled ? "" : "disabled"}</span>
              </th>
              <td class="number">{feed.refreshed_at === "" ? "" : formatCount(feed.count)}</td>
              <td class="number">{feed.refreshed_at === "" ? "" : formatCount(feed.guarded)}</td>
              <td class="when">
                {feed.refreshed_at === "" ? "when it is read" : formatAgo(feed.refreshed_at, Date.now())}
              </td>
              <td>
                <code>
                  <Hostile text={feed.query} />
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
