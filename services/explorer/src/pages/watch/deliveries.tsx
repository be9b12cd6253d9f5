import type { Watch, WatchDeliveries, WatchEvent } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { useCurrentAnswer } from "../../api/use-current-answer.ts";
import { deliveriesOf, retryDelivery } from "../../api/watches.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { ActionFault } from "../../shell/action-fault.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { type Column, useSorted } from "../../table/use-sorted.tsx";
import { formatCount, formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { DestinationText } from "../watches/destination-text.tsx";

const SHOWN = 100;

type DeliveriesProps = {
  readonly watch: Watch;
  /** Those that the page knows, to name what is delivered. */
  readonly events: readonly WatchEvent[];
};

/** How the deliveries of a watch go, with those that were tried last first. */
export function Deliveries({ watch, events }: DeliveriesProps) {
  const deliveries = useCurrentAnswer(deliveriesOf(watch.id, SHOWN));
  const action = useAction();
  const retry = async (event: string) => {
    if ((await action.run(retryDelivery(watch.id, event))) !== undefined) deliveries.retry();
  };
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries</h2>
      <p class="faint">
        What is not taken is tried again for three days, ever more rarely. After that it has failed, and can be sent
        again here.
      </p>
      <Loaded of={deliveries} what="the deliveries">
        {(data) =>
          data.deliveries.length === 0 ? (
            <p class="empty">Nothing was delivered yet.</p>
          ) : (
            <DeliveryTable
              deliveries={data.deliveries}
              watch={watch}
              events={events}
              isRunning={action.isRunning}
              onRetry={(event) => void retry(event)}
            />
          )
        }
      </Loaded>
      <ActionFault message={action.message} />
    </section>
  );
}

type Delivery = WatchDeliveries["deliveries"][number];

const COLUMNS: readonly Column<Delivery>[] = [
  { heading: "Event" },
  { heading: "Destination", by: ({ destination }) => destination },
  { heading: "State", by: ({ state }) => state },
  { heading: { number: "Attempts" }, by: ({ attempts }) => attempts },
  { heading: "Last attempt", by: ({ last_attempt_at: time }) => time },
  { heading: "What came back" },
  { heading: "Next attempt", by: ({ next_attempt_at: time }) => time },
  { heading: "Retry" },
];
const STATES = { delivered: "benign", pending: "suspicious", failed: "malicious" } as const;

type DeliveryTableProps = DeliveriesProps & {
  readonly deliveries: readonly Delivery[];
  readonly isRunning: boolean;
  readonly onRetry: (event: string) => void;
};

function DeliveryTable({ deliveries, watch, events, isRunning, onRetry }: DeliveryTableProps) {
  const { sorted, head } = useSorted(deliveries, COLUMNS);
  const found = new Map(events.map((event) => [event.id, event]));
  const destinations = new Map(watch.deliver.map((destination) => [destination.id, destination]));
  return (
    <ScrollRegion label="Deliveries" isTall>
      <table>
        <caption class="hidden">Deliveries of the watch</caption>
        {head}
        <tbody>
          {sorted.map((delivery) => {
            const { event_id: id, destination, state, attempts, last_status: status } = delivery;
            const event = found.get(id);
            const to = destinations.get(destination);
            return (
              <tr key={`${id} ${destination}`} data-delivery={state}>
                <th scope="row">{event === undefined ? <code>{id}</code> : <Hostile text={event.summary} />}</th>
                <td>{to === undefined ? <span class="faint">removed</span> : <DestinationText {...to} />}</td>
                <td>
                  <span class={`badge ${STATES[state]}`}>{state}</span>
                </td>
                <td class="number">{formatCount(attempts)}</td>
                <td class="when">{formatMinute(delivery.last_attempt_at)}</td>
                <td>
                  <Hostile text={delivery.last_error || (status === 0 ? "" : `HTTP ${status}`)} />
                </td>
                <td class="when">{formatMinute(delivery.next_attempt_at)}</td>
                <td>
                  {state === "delivered" || to === undefined ? null : (
                    <button type="button" class="link" disabled={isRunning} onClick={() => onRetry(id)}>
                      Retry<span class="hidden"> the event {id}</span>
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
