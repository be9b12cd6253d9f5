import { nameOf, rejectedShare, type SensorSummary } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { formatAge } from "../measures.ts";
import type { StoreFacts } from "../probes/probe-store.ts";
import { type Finding, ok, unknown, warning } from "./finding.ts";

/** Fewer records say nothing about a sensor. */
const MIN_RECORDS = 20;
const NAMED = 5;

/** Sensors that fell silent, and those of which more than half is rejected. What was replayed says nothing about either. */
export function checkSensors({ sensors }: StoreFacts, now: number): Finding[] {
  const check = "sensors";
  if ("error" in sensors) return [unknown(check, sensors.error, "grant the user SELECT on the table sensor_activity")];
  const all = sensors.value;
  if (all.length === 0)
    return [warning(check, "none has sent anything for 7 days", "see docs/ingest.md for how to send")];
  const findings: Finding[] = [];
  const silent = all.filter(({ isSilent }) => isSilent);
  if (silent.length > 0) {
    const names = list(silent, ({ lastSeen }) => `for ${formatAge(now - lastSeen)}`);
    findings.push(
      warning(
        check,
        `silent: ${names}`,
        "check that they run and reach this service; revoke keys of those that are gone",
      ),
    );
  }
  const rejected = all.filter(
    ({ isReplayed, recent }) =>
      !isReplayed && recent.rejected + recent.accepted >= MIN_RECORDS && rejectedShare(recent) > 0.5,
  );
  if (rejected.length > 0) {
    const names = list(
      rejected,
      ({ recent }) => `${recent.rejected} of ${recent.rejected + recent.accepted}, ${worstReason(recent.reasons)}`,
    );
    findings.push(
      warning(
        check,
        `mostly rejected in the last two hours: ${names}`,
        'see "noisefloor dead-letters list --sensor NAME", then fix the sensor or revoke its key',
      ),
    );
  }
  const known = `${all.length} in the last 7 days`;
  return findings.length > 0 ? findings : [ok(check, `${known}, none of them silent`)];
}

export function checkDeadLetters({ deadLetters, sensors }: StoreFacts): Finding[] {
  const check = "dead letters";
  if ("error" in deadLetters) return [unknown(check, deadLetters.error)];
  const reasons = deadLetters.value.flatMap(({ reason, records, replayed }) =>
    records > replayed ? [[reason, records - replayed] as const] : [],
  );
  const count = sum(reasons.map(([, records]) => records));
  const replayed = sum(deadLetters.value.map((one) => one.replayed));
  const ofFiles = replayed === 0 ? "" : `; ${replayed} more are of replayed files`;
  if (count === 0) return [ok(check, `none today (UTC)${ofFiles}`)];
  const text = `${count} today (UTC): ${reasons.map(([reason, records]) => `${reason} ${records}`).join(", ")}${ofFiles}`;
  const today = "value" in sensors ? sensors.value.filter((one) => !one.isReplayed).map((one) => one.today) : [];
  const [accepted, rejected] = [sum(today.map((one) => one.accepted)), sum(today.map((one) => one.rejected))];
  const remedies = reasons.map(([reason]) => REMEDIES[reason]).filter((remedy) => remedy !== undefined);
  const remedy = ['"noisefloor dead-letters list --since 24h" shows them', ...remedies].join("; ");
  // Without counts, any might be too many.
  return accepted > 0 && rejected / (accepted + rejected) <= 0.01 ? [ok(check, text)] : [warning(check, text, remedy)];
}

const REMEDIES: Readonly<Record<string, string>> = {
  "in-the-future":
    "clocks of sensors or of this machine are wrong (check NTP on both), or sensors write local time (see SENSOR_TIME_ZONES)",
  "unknown-tag": "import the tags (noisefloor tags import) and retry",
  "not-permitted": "the sensor's key is for another dataset or sensor",
};

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

function worstReason(reasons: Readonly<Record<string, number>>): string {
  return Object.entries(reasons).sort(([, one], [, other]) => other - one)[0]?.[0] ?? "";
}

function list(sensors: readonly SensorSummary[], describe: (sensor: SensorSummary) => string): string {
  const named = sensors.slice(0, NAMED).map((sensor) => {
    const key = sensor.keyId === "" ? "" : `, key ${sensor.keyId}`;
    return `${nameOf(sensor)} (${sensor.source}${key}, ${describe(sensor)})`;
  });
  const others = sensors.length - named.length;
  return named.join(", ") + (others > 0 ? ` and ${others} others` : "");
}
