import { isAlive } from "@noisefloor/clickhouse/embedded/start-lock.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { HEALTH_PATH, METRICS_PATH, READY_PATH } from "@noisefloor/http/health.ts";
import { z } from "zod";
import { type ProcessNote, readProcessNotes } from "../../process/reports/process-note.ts";
import { urlOfSettings } from "../../query-client/url.ts";
import { PROBE_MS, type Probe, probe } from "./probe.ts";

/** A sample of a process's metrics. */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export type ServiceProbe = {
  readonly url: string;
  /** Undefined for one that was found by the settings alone. */
  readonly note: ProcessNote | undefined;
  readonly isAlive: boolean | undefined;
  /** Whether it is a service of ours, and its version where it says one. */
  readonly health: Probe<{ readonly version: string | undefined }>;
  /** The checks that fail; none when it is ready. */
  readonly failing: Probe<readonly string[]>;
  readonly metrics: Probe<readonly Sample[]>;
};

/** Asks every service that has left a note in the data directory, and the address of the settings. */
export async function probeServices({ clickhouse, http }: Settings): Promise<ServiceProbe[]> {
  const notes = await readProcessNotes(clickhouse.dataDir);
  const probes = notes.map((note) => probeService(note.url, note, http.metricsToken));
  const settingsUrl = urlOfSettings(http);
  const isNoted = notes.some(({ url }) => new URL(url).port === String(http.port));
  if (!isNoted && http.port > 0) probes.push(probeService(settingsUrl, undefined, http.metricsToken));
  const probed = await Promise.all(probes);
  // The settings' address is only a guess: no service there is no fault.
  return probed.filter(({ note, health }) => note !== undefined || "value" in health || !isRefused(health.error));
}

const isRefused = (reason: string) => /ECONNREFUSED/.test(reason);

const healthSchema = z.object({ status: z.literal("ok"), version: z.string().optional() });
const readySchema = z.object({ checks: z.record(z.string(), z.string()) });

async function probeService(
  url: string,
  note: ProcessNote | undefined,
  metricsToken: string | undefined,
): Promise<ServiceProbe> {
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(PROBE_MS) });
    return { status: response.status, text: await response.text() };
  };
  const [health, failing, metrics] = await Promise.all([
    probe(async () => {
      const parsed = healthSchema.safeParse(parseJson((await get(HEALTH_PATH)).text));
      if (!parsed.success) throw new Error("what answers there is not Noisefloor");
      return { version: parsed.data.version };
    }),
    probe(async () => {
      const { checks } = readySchema.parse(parseJson((await get(READY_PATH)).text));
      return Object.entries(checks).flatMap(([name, state]) => (state === "ok" ? [] : [name]));
    }),
    probe(async () => {
      const authorization = metricsToken === undefined ? {} : { authorization: `Bearer ${metricsToken}` };
      const { status, text } = await get(METRICS_PATH, authorization);
      if (status === 401) throw new Error("it asks for a METRICS_TOKEN, which is not set here");
      if (status !== 200) throw new Error(`its metrics answer with the status ${status}`);
      return parseMetrics(text);
    }),
  ]);
  return { url, note, isAlive: note && isAlive(note.pid), health, failing, metrics };
}

/** The samples in Prometheus' text format. */
export function parseMetrics(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^(noisefloor_\w+|process_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", of = ""]) => [label, of]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
