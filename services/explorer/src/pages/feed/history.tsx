import { historyOf } from "../../api/feeds.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";

const SHOWN = 20;

/** How a feed has grown: its last lists. */
export function History({ name }: { readonly name: string }) {
  const history = useAnswer(historyOf(name));
  return (
    <section aria-labelledby="history">
      <h2 id="history">Its last lists</h2>
      <Loaded of={history} what="the lists">
        {({ revisions }) =>
          revisions.length === 0 ? (
            <p class="empty">None yet.</p>
          ) : (
            <ScrollRegion label="Lists">
              <table>
                <caption class="hidden">Last lists of the feed</caption>
                <thead>
                  <tr>
                    <th scope="col">Since</th>
                    <th scope="col" class="number">
                      Addresses
                    </th>
                    <th scope="col" class="number">
                      Came
                    </th>
                    <th scope="col" class="number">
                      Left
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {revisions.slice(0, SHOWN).map(({ cursor, refreshed_at: at, count, added, removed }) => (
                    <tr key={cursor} data-revision={count}>
                      <th scope="row">{formatMinute(at)}</th>
                      <td class="number">{formatCount(count)}</td>
                      <td class="number">{formatCount(added)}</td>
                      <td class="number">{formatCount(removed)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </ScrollRegion>
          )
        }
      </Loaded>
    </section>
  );
}
