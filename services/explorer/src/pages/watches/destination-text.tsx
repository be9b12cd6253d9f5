import type { WatchDestination } from "../../api/operations.ts";
import { Hostile } from "../../text/hostile.tsx";

/** Where a destination is. */
export function DestinationText({ type, url, format, to, host, port, transport, off }: WatchDestination) {
  const where = url ?? to?.join(", ") ?? `${host}:${port} (${transport})`;
  return (
    <span>
      {type}
      {format === "greynoise" ? " (GreyNoise's body)" : ""}:{" "}
      <code>
        <Hostile text={where} />
      </code>
      {off ? <span class="badge suspicious">off: it said that it is gone</span> : null}
    </span>
  );
}
