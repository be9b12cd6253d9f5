import type { SensorList } from "../../api/operations.ts";
import { allSensors } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { newWatchPath } from "../../routing/paths.ts";
import { formatAgo, formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { SensorTable } from "./sensor-table.tsx";

/** `/sensors`: what each sensor sent, for keys that may see it. */
export function SensorsPage() {
  usePageTitle("Sensors");
  const sensors = useAnswer(allSensors());
  return (
    <>
      <h1>Sensors</h1>
      <p class="lead">
        What each sensor sent in the last seven days, and what became of it.{" "}
        <a href={newWatchPath("sensor_silent", "")}>Watch for silent sensors</a>
      </p>
      <Loaded of={sensors} what="the sensors">
        {(data) => (
          <>
            <Stored {...data} />
            <Lag lag={data.metadata.lag} now={Date.now()} />
            {data.sensors.length === 0 ? <NoSensors /> : <SensorTable sensors={data.sensors} now={Date.now()} />}
          </>
        )}
      </Loaded>
      <p class="faint">
        A sensor is silent when it has sent nothing for twice as long as its longest pause of these days. You see the
        sensors of your workspace; those that feed the datasets for all take the entitlement <code>sensors</code>.
      </p>
    </>
  );
}

/** What waits in Kafka, for callers who may see it. */
function Lag({ lag, now }: { readonly lag: SensorList["metadata"]["lag"]; readonly now: number }) {
  return lag.map(({ topic, messages, at }) => (
    <p key={topic} data-lag={topic}>
      {plural(messages, "message")} {messages === 1 ? "waits" : "wait"} in the Kafka topic <Hostile text={topic} />, as
      the intake saw {formatAgo(at, now)}.
    </p>
  ));
}

function Stored({ sensors, metadata: { stored_from: from, stored_to: to } }: SensorList) {
  const silent = sensors.filter(({ state }) => state === "silent").length;
  return (
    <p data-stored>
      {plural(sensors.length, "sensor")}
      {silent === 0 ? "" : `, ${silent} of them silent`}.{" "}
      {from === "" || to === ""
        ? "Your datasets hold no observations yet."
        : `Your datasets hold observations from ${formatMinute(from)} to ${formatMinute(to)}.`}
    </p>
  );
}

function NoSensors() {
  return (
    <p class="notice">
      No sensor that you may see has sent anything. Point one at this service: the documentation of the intake says how.
    </p>
  );
}
