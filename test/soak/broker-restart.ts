import { type Scenario, waitForInserts } from "./scenario.ts";

const RESTARTS = 2;

/** The broker is stopped or killed, and comes back at the same address. */
export const brokerRestart: Scenario = {
  name: "broker",
  promise: "a restart of the broker ends no process and loses nothing",
  events: { soak: 20_000, test: 10_000 },
  async play(stage, _extent, say) {
    const { events, servers } = stage;
    const share = Math.ceil(events.length / RESTARTS);
    await stage.ingest();
    for (let number = 0; number < RESTARTS; number++) {
      const flowing = await waitForInserts(stage);
      const flow = stage.publish(events.slice(number * share, (number + 1) * share));
      await flowing();
      // Pause it: a producer without an acknowledgement publishes again, and without an id that is another observation.
      const resume = await flow.hold();
      await servers.broker.restart(number % 2 === 0 ? "SIGTERM" : "SIGKILL");
      resume();
      await flow.done;
      say(`${number + 1} of ${RESTARTS} restarts`);
    }
    await stage.drained();
    await stage.verify();
    return `${RESTARTS} restarts of the broker`;
  },
};
