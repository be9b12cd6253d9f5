import { access, constants, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import { holdsStore } from "@noisefloor/clickhouse/embedded/embedded.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { type KafkaState, readKafkaState } from "@noisefloor/kafka/group-state.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import { readExpiry } from "../../process/reports/self-report.ts";
import { PROBE_MS, type Probe, probe } from "./probe.ts";

export type DataDirectory = {
  readonly path: string;
  readonly exists: boolean;
  readonly isWritable: boolean;
  readonly holdsStore: boolean;
  /** The disk that holds it, or would. */
  readonly disk: Probe<{ readonly freeBytes: number; readonly totalBytes: number }>;
};

export async function probeDataDirectory({ clickhouse }: Settings): Promise<DataDirectory> {
  const path = resolve(clickhouse.dataDir);
  const may = (mode: number) =>
    access(path, mode).then(
      () => true,
      () => false,
    );
  const [exists, isWritable, store, disk] = await Promise.all([
    may(constants.F_OK),
    may(constants.W_OK),
    holdsStore(path),
    probe(() => readSpace(path)),
  ]);
  return { path, exists, isWritable, holdsStore: store, disk };
}

/** The space on the disk of a folder, or of the nearest one above it that exists. */
async function readSpace(path: string): Promise<{ freeBytes: number; totalBytes: number }> {
  const found = await statfs(path).catch((error: unknown) => {
    if (dirname(path) === path) throw error;
    return undefined;
  });
  if (found === undefined) return readSpace(dirname(path));
  return { freeBytes: found.bavail * found.bsize, totalBytes: found.blocks * found.bsize };
}

/** When the configured certificate expires, in milliseconds since 1970 UTC; undefined when none is configured. */
export async function probeCertificate({ http }: Settings): Promise<Probe<number> | undefined> {
  const { tls } = http;
  return tls && probe(() => readExpiry(tls.certFile));
}

/** The lag of the configured topics, and the clock; undefined without brokers. */
export async function probeKafka({ kafka }: Settings, log: Logger): Promise<Probe<KafkaState> | undefined> {
  if (kafka === undefined) return undefined;
  const { connection, topic, groupId, rawTopics } = kafka;
  const groups = [
    { topic, groupId },
    ...rawTopics.map((raw) => ({ topic: raw.topic, groupId: `${groupId}.${raw.topic}` })),
  ];
  return probe(() => readKafkaState(connection, groups, log));
}

/** Whether a connection to the port is taken, by anything. */
export function takesConnections(host: string, port: number): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect({ host: ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host, port, timeout: PROBE_MS });
    const end = (taken: boolean) => {
      socket.destroy();
      settle(taken);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
    socket.once("timeout", () => end(false));
  });
}
