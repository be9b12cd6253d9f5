import { isAlive } from "@noisefloor/clickhouse/embedded/start-lock.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { readProcessNotes } from "../process/reports/process-note.ts";

/** Where the service of these settings listens, as this machine reaches it. */
export function urlOfSettings({ host, port }: Pick<Settings["http"], "host" | "port">): string {
  return `http://${hostToAsk(host)}:${port}`;
}

function hostToAsk(host: string): string {
  if (["0.0.0.0", "::", "127.0.0.1", "::1"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

/** The query service that runs over the data directory, else where the settings put one. Without a slash at its end. */
export async function findQueryUrl({ clickhouse, http }: Settings): Promise<string> {
  const notes = await readProcessNotes(clickhouse.dataDir);
  const running = notes.find(({ pid, roles }) => roles.includes("query") && isAlive(pid) !== false);
  return running?.url ?? urlOfSettings(http);
}
