import { consumerLag, isRecentLag } from "@noisefloor/clickhouse/sensors/consumer-lag.ts";
import { type Counts, nameOf, type SensorSummary } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import type { RouteDeps } from "../address/route-deps.ts";
import { SENSORS_COST } from "../costs.ts";
import { readScopes } from "../parameters.ts";
import { createSharedAnswers } from "../shared-answers.ts";
import { readStoredSpan, toStoredSpan } from "../stats/stored-hours.ts";
import { KEY_NEEDED, listSensors } from "./operation.ts";
import { readSensors, sensorWorkspaces } from "./read-sensors.ts";

/** `GET /v3/sensors`: what each sensor sent, for those who may know that it exists. */
export function registerSensors(app: FastifyInstance, { read, authenticate, retentionDays, now }: RouteDeps): void {
  const readAll = createSharedAnswers<readonly SensorSummary[]>(app);
  app.implement(listSensors, async (request, _reply, { signal }) => {
    const caller = authenticate(request);
    if (caller.workspaceId === undefined) throw new HttpError(403, KEY_NEEDED);
    const workspaces = sensorWorkspaces(caller.workspaceId, caller);
    const question = { request, key: JSON.stringify({ what: "sensors", workspaces }), cost: SENSORS_COST };
    const sensors = await readAll(question, signal, (shared) => readSensors(workspaces, { read, now }, shared));
    const scopes = readScopes("tag-activity", {}, caller);
    const since = retentionStart(now(), retentionDays());
    const [stored, lag] = await Promise.all([
      readStoredSpan({ scopes, since }, read, signal),
      caller.entitlements.has("sensors") ? read(consumerLag.all, {}, signal) : [],
    ]);
    return {
      sensors: sensors.map(toWire),
      metadata: {
        ...toStoredSpan(stored),
        lag: lag
          .filter((topic) => isRecentLag(topic, now()))
          .map(({ topic, messages, seenAt }) => ({ topic, messages, at: formatTimestamp(seenAt) })),
      },
    };
  });
}

function toWire(sensor: SensorSummary) {
  const { sensorId, isRest, source, keyId, isSilent } = sensor;
  return {
    name: nameOf(sensor),
    sensor_id: sensorId,
    is_rest: isRest,
    source,
    key: keyId,
    state: isSilent ? ("silent" as const) : ("active" as const),
    last_seen: formatTimestamp(sensor.lastSeen),
    formats: sensor.formats,
    accepted_per_hour: Number(sensor.perHour.toFixed(2)),
    today: toRecords(sensor.today),
    seven_days: toRecords(sensor.week),
  };
}

const toRecords = ({ accepted, rejected, ignored, reasons }: Counts) => ({ accepted, rejected, ignored, reasons });
