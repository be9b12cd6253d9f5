import { useKey } from "../../api/kept-key.ts";
import type { Today } from "../../api/operations.ts";
import { today } from "../../api/questions.ts";
import { type Loading, useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { SearchBox } from "../../frame/search-box.tsx";
import { BASE, searchPath } from "../../routing/paths.ts";
import { formatMinute, plural } from "../../text/format.ts";
import { FirstObservation } from "../overview/first-observation.tsx";
import { NewCves, NewPaths, NewTags, RisingTags } from "./news.tsx";
import { ChangedFeeds, Events, OwnAddresses, SilentSensors } from "./own.tsx";

/** `/today`: what is different since yesterday. */
export function TodayPage() {
  return <TodayOf answer={useAnswer(today())} />;
}

/** The same with an answer that was asked for already. */
export function TodayOf({ answer }: { readonly answer: Loading<Today> }) {
  usePageTitle("Today");
  return (
    <>
      <section class="hero">
        <h1>What is new since yesterday</h1>
        <SearchBox isLarge />
      </section>
      <Loaded of={answer} what="what is new">
        {(news) => (news.metadata.stored_from === "" ? <FirstObservation /> : <News news={news} />)}
      </Loaded>
    </>
  );
}

function News({ news }: { readonly news: Today }) {
  const { key } = useKey();
  return (
    <>
      <Numbers {...news} />
      <div class="bar-of-choices">
        <h2>Yours</h2>
      </div>
      {key === "" ? (
        <p class="notice">
          Enter the key of your workspace with the button Key at the top to see which of your own networks scan, which
          of your sensors are silent, and how your feeds have changed.
        </p>
      ) : (
        <div class="grid news">
          <OwnAddresses of={news.own_addresses} />
          <SilentSensors of={news.silent_sensors} />
          <ChangedFeeds of={news.feeds} />
          <Events of={news.events} />
        </div>
      )}
      {news.metadata.has_yesterday ? (
        <>
          <div class="bar-of-choices">
            <h2>On the Internet</h2>
          </div>
          <div class="grid news">
            <RisingTags of={news.rising_tags} comparedDays={news.metadata.compared_days} />
            <NewTags of={news.new_tags} />
            <NewPaths of={news.new_paths} />
            <NewCves of={news.new_cves} />
          </div>
        </>
      ) : null}
    </>
  );
}

function Numbers({ addresses: { seen, new: fresh }, metadata }: Pick<Today, "addresses" | "metadata">) {
  const { start_date: start, end_date: end, stored_from: from } = metadata;
  return (
    <>
      <p data-today>
        <a href={searchPath(seen.search.query)}>
          <strong>{plural(seen.count, "address", "addresses")}</strong>
        </a>{" "}
        {seen.count === 1 ? "was" : "were"} seen from {formatMinute(start)} to {formatMinute(end)} UTC
        {metadata.has_yesterday ? (
          <>
            , <a href={searchPath(fresh.search.query)}>{plural(fresh.count, "of them", "of them")}</a> never before.
          </>
        ) : (
          "."
        )}
      </p>
      <p class="faint">
        {metadata.has_yesterday
          ? `New is what no observation had before: the oldest are of ${formatMinute(from)}.`
          : `Nothing can be called new yet: observations begin at ${formatMinute(from)}, within the last 24 hours.`}{" "}
        Charts of what came in are in the <a href={`${BASE}/overview`}>overview</a>.
      </p>
    </>
  );
}
