import { join } from "node:path";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { daysUntilFull, formatAge, formatFull, formatSkew } from "../measures.ts";
import type { Facts } from "../probes/gather.ts";
import { isLate } from "../probes/probe.ts";
import type { StoreFacts } from "../probes/probe-store.ts";
import { HIGH_LOAD } from "./check-services.ts";
import { type Finding, failure, ok, unknown, warning } from "./finding.ts";

const SECOND_MS = 1_000;
/** An observation from further ahead than five minutes is rejected. */
const SKEW_WARNING_MS = 5 * SECOND_MS;
const SKEW_FAILURE_MS = 60 * SECOND_MS;
const BACKUP_WARNING_MS = 2 * DAY_MS;
const FULL_SOON_DAYS = 14;

export function checkDataDirectory({ dataDirectory, store, services, settings }: Facts): Finding[] {
  const check = "data directory";
  const { path, exists, isWritable, holdsStore } = dataDirectory;
  if (!store.isEmbedded) return [];
  if (!holdsStore) {
    const elsewhere = services.some(({ health }) => "value" in health);
    const why = elsewhere ? `, yet a service answers on port ${settings.http.port}: it has another one` : "";
    return [
      failure(
        check,
        `${path} ${exists ? "holds no store" : "does not exist"}${why}`,
        'set DATA_DIR to the folder of the service (relative ones depend on where a command is called); "noisefloor start" makes a new store',
      ),
    ];
  }
  if (isWritable) return [ok(check, path)];
  return [failure(check, `${path} cannot be written by this user`, "run it as the user whom the folder belongs to")];
}

export function checkClickHouse({ store, services, dataDirectory, load }: Facts): Finding[] {
  const check = "ClickHouse";
  const { facts, url, isEmbedded, owner } = store;
  if ("value" in facts) {
    const whose = owner === undefined ? "" : ` of pid ${owner.pid}`;
    return [ok(check, `${facts.value.clock.version} at ${url}${isEmbedded ? `, embedded${whose}` : ""}`)];
  }
  if (!isEmbedded) {
    const isSaid = facts.error.includes("ClickHouse at ");
    return [failure(check, isSaid ? facts.error : `ClickHouse at ${url}: ${facts.error}`, remedyOf(facts.error))];
  }
  if (!dataDirectory.holdsStore) return [];
  const log = join(dataDirectory.path, "clickhouse", "clickhouse.log");
  if (owner === undefined) {
    const isServed = services.some(({ health }) => "value" in health);
    return [
      isServed
        ? failure(check, facts.error, "the service that answers has another DATA_DIR: call this with the same one")
        : warning(check, "not running, as no service does", 'start one: "noisefloor start"'),
    ];
  }
  if (!owner.isAlive) {
    return [
      failure(check, `pid ${owner.pid}, which ran it, was killed or crashed`, `start the service again; see ${log}`),
    ];
  }
  const text = `the embedded server of pid ${owner.pid} does not answer (${facts.error})`;
  if (isLate(facts.error) && load >= HIGH_LOAD) return [unknown(check, text, "the machine is overloaded: try again")];
  const remedy = isLate(facts.error)
    ? `it hangs, or the machine is overloaded: look at top and ${log}; restarting the service restarts it`
    : `the service starts it again within seconds, and ends after two minutes; if it keeps ending, see ${log} and the free memory`;
  return [failure(check, text, remedy)];
}

function remedyOf(error: string): string {
  if (/CLICKHOUSE_(USER|PASSWORD)/.test(error)) return "check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD";
  if (/refused/.test(error)) return "start it, or correct CLICKHOUSE_URL";
  return "check that it runs and can be reached, and CLICKHOUSE_URL";
}

export function checkSchema({ schema }: StoreFacts): Finding[] {
  if ("value" in schema) return [ok("schema", `current (migration ${schema.value})`)];
  return [failure("schema", schema.error, "migrate, update, or restore a backup, as it says")];
}

const REPLICA_REMEDIES = {
  behind: "it fetches what it lacks, if the servers that have it are there; if that does not end, see its log",
  alone: "check that Keeper runs and that this server reaches it: until then it takes no rows",
  away: "start it, or replace it by an empty one and run noisefloor migrate (docs/scaling.md)",
} as const;

/** Replicas that lack rows or are away, in a cluster whose shards have several servers. */
export function checkReplicas({ replicas }: StoreFacts): Finding[] {
  const check = "replicas";
  if ("error" in replicas) return [unknown(check, replicas.error, "grant the user SELECT on system.replicas")];
  const all = replicas.value;
  if (all.length === 0) return [];
  const findings = all.flatMap(({ shard, host, state }) => {
    if (state === "complete") return [];
    const isLast = !all.some((one) => one.shard === shard && one.state === "complete");
    const report = isLast ? failure : warning;
    return [report(check, `${host} of shard ${shard} is ${state}`, REPLICA_REMEDIES[state])];
  });
  return findings.length === 0 ? [ok(check, `all ${all.length} are complete`)] : findings;
}

export function checkDisk(facts: StoreFacts): Finding[] {
  const check = "disk";
  const { disk } = facts;
  if ("error" in disk) return [unknown(check, disk.error, "grant the user SELECT on system.disks")];
  const { freeBytes, totalBytes, floorBytes } = disk.value;
  const text = `${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} free`;
  const remedy = "free space, enlarge the disk, or lower RETENTION_DAYS (noisefloor retention shows every table)";
  if (freeBytes < floorBytes) {
    return [
      failure(
        check,
        `full: ${text}, and below ${formatBytes(floorBytes)} (MIN_FREE_DISK_MIB) nothing is stored`,
        remedy,
      ),
    ];
  }
  const days = daysUntilFull(facts);
  const until = formatFull(days);
  if (freeBytes < 5 * floorBytes || (days !== undefined && days < FULL_SOON_DAYS)) {
    return [warning(check, text + until, remedy)];
  }
  return [ok(check, text + until)];
}

/** @param skewMs how far the clock of ClickHouse or Kafka is ahead of ours; undefined when it is not known. */
export function checkClock(owner: string, skewMs: number | undefined): Finding[] {
  if (skewMs === undefined) return [];
  const check = "clock";
  const text = `${owner}'s is ${formatSkew(skewMs)}`;
  const remedy = "let NTP set the clocks of both machines";
  if (Math.abs(skewMs) > SKEW_FAILURE_MS) return [failure(check, text, remedy)];
  if (Math.abs(skewMs) > SKEW_WARNING_MS) return [warning(check, text, remedy)];
  return [ok(check, text)];
}

export function checkBackup({ lastBackup }: StoreFacts, now: number): Finding[] {
  const check = "backup";
  const remedy = 'run "noisefloor backup PLACE", every day';
  if ("error" in lastBackup) return [unknown(check, lastBackup.error, "grant the user SELECT on the table backups")];
  if (lastBackup.value === undefined) return [warning(check, "none was ever made", remedy)];
  const { madeAt, place, bytes } = lastBackup.value;
  const text = `the last one is ${formatAge(now - madeAt)} old: ${place}, ${formatBytes(bytes)}`;
  return now - madeAt > BACKUP_WARNING_MS ? [warning(check, text, remedy)] : [ok(check, text)];
}
