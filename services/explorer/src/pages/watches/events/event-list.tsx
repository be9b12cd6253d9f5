import type { WatchEvent } from "../../../api/operations.ts";
import { watchPath } from "../../../routing/paths.ts";
import { formatMinute } from "../../../text/format.ts";
import { Hostile } from "../../../text/hostile.tsx";
import { EventDetails } from "./event-details.tsx";

type EventListProps = {
  /** The oldest first, as the service has them. */
  readonly events: readonly WatchEvent[];
  /** Whether to say which watch made each. */
  readonly namesWatch: boolean;
  readonly whenEmpty: string;
};

/** Events, the newest first, each with what it lists. */
export function EventList({ events, namesWatch, whenEmpty }: EventListProps) {
  if (events.length === 0) return <p class="empty">{whenEmpty}</p>;
  return (
    <ul class="tags" data-events>
      {[...events].reverse().map((event) => (
        <li key={event.id} data-event={event.type}>
          <time class="faint" dateTime={event.detected_at}>
            {formatMinute(event.detected_at)}
          </time>{" "}
          {namesWatch ? (
            <a href={watchPath(event.watch.id)}>
              <Hostile text={event.watch.name} />
            </a>
          ) : null}{" "}
          <Hostile text={event.summary} />
          <details>
            <summary>
              What it found<span class="hidden"> at {event.detected_at}</span>
            </summary>
            <EventDetails event={event} />
          </details>
        </li>
      ))}
    </ul>
  );
}
