import { type Fields, portAt, textAt } from "../../../fields.ts";

const TWO_TO_31 = 2 ** 31;
const TWO_TO_32 = 2 ** 32;
/** A flow of Suricata before version 7 whose event names no start is told by its age in seconds, up to this one. */
const MAX_AGE = 1_200;

/** When the flow began, as its own members say; undefined for events that do not. */
export function flowStart(record: Fields): string | undefined {
  return "flow" in record || "netflow" in record ? textAt(record, "flow.start", "netflow.start") : undefined;
}

/**
 * A flow by its own addresses, ports, protocol and start, which are the same when Suricata reads a capture again; only
 * `flow_id` as it is where that holds no start; undefined without one.
 * @param client the side of the addresses that began the flow
 */
export function flowSession(record: Fields, client: "src" | "dest"): string | undefined {
  const flow = textAt(record, "flow_id");
  const mark = flow === undefined ? undefined : startMark(flow, record);
  if (mark === undefined) return flow;
  const server = client === "src" ? "dest" : "src";
  const [from, to] = [portAt(record, `${client}_port`) ?? "", portAt(record, `${server}_port`) ?? ""];
  return `${textAt(record, "proto") ?? ""}:${from}-${textAt(record, `${server}_ip`) ?? ""}:${to}-${mark}`;
}

/**
 * The part of a `flow_id` that says when the flow began. Since version 7 that is the 19 bits above the lower 32
 * (seconds modulo 8, the lower 16 bits of the microseconds), before it the lower 31 (seconds modulo 32768, likewise);
 * the rest is a hash with a seed that is new at each run. Smaller numbers are a writer's own, unless the flow began at a
 * time whose 19 bits are zeros.
 */
function startMark(flow: string, record: Fields): string | undefined {
  const id = /^\d{1,16}$/.test(flow) ? Number(flow) : undefined;
  if (id === undefined || (id < TWO_TO_32 && !mayHaveZeroMark(record))) return undefined;
  const isSinceVersion7 = "pkt_src" in record || "ip_v" in record || id < TWO_TO_32 || !isOldMark(id, record);
  return isSinceVersion7 ? String(Math.floor(id / TWO_TO_32)) : `v6-${id % TWO_TO_31}`;
}

/** Whether version 7 wrote the record of a packet, or of a flow whose start makes 19 bits of zeros. */
function mayHaveZeroMark(record: Fields): boolean {
  if ("pkt_src" in record) return true;
  const start = flowStart(record) ?? "";
  const microseconds = Number((/\.(\d{1,6})/.exec(start)?.[1] ?? "").padEnd(6, "0"));
  return Math.floor(Date.parse(start) / 1_000) % 8 === 0 && microseconds % 65_536 === 0;
}

function isOldMark(id: number, record: Fields): boolean {
  const start = flowStart(record);
  const time = Date.parse(start ?? textAt(record, "timestamp") ?? "");
  if (Number.isNaN(time)) return false;
  const age = (Math.floor(time / 1_000) - (Math.floor(id / 65_536) & 0x7fff)) & 0x7fff;
  return age < (start === undefined ? MAX_AGE : 1);
}
