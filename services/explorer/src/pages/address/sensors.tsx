import { useKey } from "../../api/kept-key.ts";
import { sensorsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { BASE } from "../../routing/paths.ts";
import { valuePath } from "../../search/value-search.tsx";
import { formatCount, formatMinute, plural } from "../../text/format.ts";
import { Code, Facts, items } from "./facts.tsx";

/** The sensors that saw an address, of those that the caller may know; one lookup, and nothing without a key. */
export function Sensors({ ip }: { readonly ip: string }) {
  const { key } = useKey();
  const sensors = useAnswer(key === "" ? undefined : sensorsOf(ip));
  if (key === "") return null;
  return (
    <Loaded of={sensors} what="the sensors that saw it">
      {({ sensors: listed, total_sensors: total }) => (
        <Facts
          title="Sensors that saw it"
          facts={[
            [
              listed.length === total ? "Sensors" : `${formatCount(listed.length)} of ${formatCount(total)} sensors`,
              items(
                listed.map(({ sensor_id: id, observations, last_seen: last }) => ({
                  key: id,
                  shown: (
                    <>
                      <a href={valuePath("sensor", id)}>
                        <Code text={id} />
                      </a>{" "}
                      <span class="faint">
                        ({plural(observations, "observation")}, the last at {formatMinute(last)})
                      </span>
                    </>
                  ),
                })),
              ),
            ],
            ["What each sends", total === 0 ? "" : <a href={`${BASE}/sensors`}>all sensors</a>],
          ]}
        />
      )}
    </Loaded>
  );
}
