import { toTime } from "../../../text/format.ts";

export const DAYS = ["1", "7", "30", "90"] as const;
export const USUAL_DAYS = "7";

const DAY_MS = 86_400_000;
/** Until the answer comes, the period goes on. */
const MARGIN_MS = 3_600_000;

/** The shortest period, but not below the usual one, in which an address was seen. @param lastSeen in UTC. */
export function daysBackTo(lastSeen: string, now: number): (typeof DAYS)[number] {
  const age = now - toTime(lastSeen) + MARGIN_MS;
  return DAYS.find((days) => Number(days) >= Number(USUAL_DAYS) && Number(days) * DAY_MS > age) ?? "90";
}
