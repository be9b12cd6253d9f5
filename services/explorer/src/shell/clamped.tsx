import { BASE } from "../routing/paths.ts";
import { plural } from "../text/format.ts";

const DAY_MS = 86_400_000;

type ClampedProps = { readonly days: number; readonly start: string; readonly end: string };

/** Says when the caller's plan shows fewer days than were asked for, which the service answers without an error. */
export function Clamped({ days, start, end }: ClampedProps) {
  const shown = Math.round((Date.parse(end) - Date.parse(start)) / DAY_MS);
  if (shown >= days) return null;
  return (
    <p class="notice">
      Your plan shows {plural(shown, "day")} of the {days} that you asked for. <a href={`${BASE}/plans`}>Plans</a>
    </p>
  );
}
