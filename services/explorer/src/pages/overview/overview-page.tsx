import { isCompared } from "../../api/compared.ts";
import { firstSeenLately, tagSummary } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { SearchBox } from "../../frame/search-box.tsx";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { PeriodChoice } from "../../shell/controls/period-choice.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { FirstObservation } from "./first-observation.tsx";
import { NewAddresses } from "./new-addresses.tsx";
import { TagChanges } from "./tag-changes.tsx";
import { WhatCameIn } from "./what-came-in.tsx";

const DAYS = ["1", "7"] as const;
const CHANGED_TAGS = 10;
const NEW_ADDRESSES = 50;

/** `/overview`: what is new, and what came in lately. */
export function OverviewPage() {
  usePageTitle("Overview");
  const { values, set } = useParameters({ days: "1" });
  const chosen = oneOf(DAYS, values.days, "1");
  const days = Number(chosen);
  const changed = useAnswer(tagSummary(days, CHANGED_TAGS, "anomalies"));
  const fresh = useAnswer(firstSeenLately(days, NEW_ADDRESSES));
  const metadata = changed.data?.metadata;
  const isEmpty = metadata?.stored_from === "";
  return (
    <>
      <section class="hero">
        <h1>Is it background noise?</h1>
        <p class="lead">Addresses that these sensors saw scanning the Internet, and those of known benign services.</p>
        <SearchBox isLarge />
      </section>
      {isEmpty ? (
        <FirstObservation />
      ) : (
        <>
          <div class="bar-of-choices">
            <h2>What is new</h2>
            <PeriodChoice days={DAYS} value={chosen} onChoose={(value) => set({ days: value })} />
            {metadata === undefined ? null : (
              <span class="faint">
                {formatMinute(metadata.start_date)} to {formatMinute(metadata.end_date)} UTC
              </span>
            )}
          </div>
          {metadata !== undefined && metadata.stored_to <= metadata.start_date ? (
            <p class="notice">
              Nothing came in during this period: observations end at {formatMinute(metadata.stored_to)}.
            </p>
          ) : null}
          <div class="grid">
            <section aria-labelledby="changed">
              <h3 id="changed">Tags that changed most</h3>
              <Loaded of={changed} what="the tags that changed">
                {({ tags, metadata: compared }) => (
                  <TagChanges
                    label="Tags that changed most"
                    tags={tags}
                    whenEmpty={
                      isCompared(compared)
                        ? "No tag has more or fewer addresses than before."
                        : `No data before: observations begin at ${formatMinute(compared.stored_from)}, later than the ${days === 1 ? "day" : plural(days, "day")} before.`
                    }
                  />
                )}
              </Loaded>
            </section>
            <section aria-labelledby="fresh">
              <h3 id="fresh">Addresses seen for the first time</h3>
              <Loaded of={fresh} what="the new addresses">
                {(data) => <NewAddresses {...data} />}
              </Loaded>
            </section>
          </div>
          <div class="bar-of-choices">
            <h2>What came in</h2>
          </div>
          <WhatCameIn days={days} />
        </>
      )}
    </>
  );
}
