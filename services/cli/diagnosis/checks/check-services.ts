import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { formatAge } from "../measures.ts";
import { type Facts, samplesOf } from "../probes/gather.ts";
import { knownOf } from "../probes/probe.ts";
import type { ServiceProbe } from "../probes/probe-services.ts";
import { type Finding, failure, ok, unknown, warning } from "./finding.ts";

const CERTIFICATE_DAYS = 14;
/** The readiness check that fails for a moment after each start. */
const LOADING = "addresses";
const STALE_SECONDS = 60;
/** From here on answers take longer than the checks wait. */
export const HIGH_LOAD = 8;
const MANY_MESSAGES = 100_000;

export function checkServices({ services, isPortTaken, settings, version }: Facts): Finding[] {
  const findings = services.flatMap((service) => checkService(service, version));
  const { host, port } = settings.http;
  const isForeign = isPortTaken && services.every(({ isAlive }) => isAlive === false);
  if (services.length > 0 && !isForeign) return findings;
  if (isPortTaken) {
    return [
      ...findings,
      failure(
        "service",
        `another program listens on port ${port} of ${host}`,
        "stop it, or set HTTP_PORT to a free port",
      ),
    ];
  }
  return [failure("service", `none is running (nothing listens on port ${port} of ${host})`, 'run "noisefloor start"')];
}

function checkService(service: ServiceProbe, version: string): Finding[] {
  const { url, note, isAlive, health, failing } = service;
  const check = note === undefined ? "service" : note.roles.join(" and ");
  const who = note === undefined ? url : `pid ${note.pid} at ${url}`;
  if ("error" in health) {
    if (isAlive === false) {
      const text = `${who} ended without a shutdown: it was killed (out of memory?) or crashed`;
      return [failure(check, text, "start it again; the end of its log and the system's log (dmesg) say why")];
    }
    if (note === undefined) {
      const text = `${url}: ${health.error}`;
      return [failure(check, text, "stop what listens there, or set HTTP_PORT to a free port")];
    }
    return [
      failure(check, `${who} does not answer: ${health.error}`, "see the end of its log; restart it if it hangs"),
    ];
  }
  const theirs = health.value.version;
  const findings: Finding[] = [];
  if ("error" in failing) findings.push(unknown(check, `${who}: its readiness is unknown: ${failing.error}`));
  else if (failing.value.join() === LOADING) {
    findings.push(
      warning(check, `${who} still loads the addresses for lookups`, "wait: its log says when they are loaded"),
    );
  } else if (failing.value.length > 0) {
    const remedy = 'see the other checks here, and the line "not ready" in its log';
    findings.push(failure(check, `${who} is not ready: ${failing.value.join(", ")}`, remedy));
  } else findings.push(ok(check, `${who} is ready, version ${theirs ?? "unknown"}`));
  if (theirs !== undefined && theirs !== version) {
    const text = `${who} runs version ${theirs}, this is ${version}`;
    findings.push(warning("version", text, "restart the service after an update"));
  }
  return findings;
}

export function checkKafka(facts: Facts): Finding[] {
  const { kafka, settings } = facts;
  if (kafka === undefined || settings.kafka === undefined) return [];
  if ("error" in kafka) {
    const remedy =
      "check that the brokers run, KAFKA_BROKERS, KAFKA_TLS and KAFKA_SASL_*; sensors' messages wait there";
    return [failure("Kafka", kafka.error, remedy)];
  }
  const unreadable = samplesOf(facts, "noisefloor_kafka_unreadable_messages_total").filter(({ value }) => value > 0);
  const lost = unreadable.map(({ labels, value }) =>
    warning(
      "Kafka",
      `${labels.topic}: ${value} messages can never be read, counted since the start of the intake`,
      "the log says which: deleted ones need a longer retention of the topic, damaged ones are dead letters (unreadable-batch)",
    ),
  );
  const lags = kafka.value.groups.map(({ topic, groupId, lag }): Finding => {
    const check = "Kafka";
    if ("error" in lag) {
      const error = lag.error instanceof Error ? lag.error.message : String(lag.error);
      const remedy = `the topic must exist and this user needs the rights to describe and read ${topic}, and to read the group ${groupId}`;
      return failure(check, `${topic}: ${error}`, remedy);
    }
    const text = `${topic}: ${lag.messages} messages wait for ${groupId}`;
    if (lag.messages <= MANY_MESSAGES) return ok(check, text);
    return warning(check, text, "if it does not shrink, see the log of the intake, or start another instance of it");
  });
  return [...lags, ...lost];
}

export function checkCaches(facts: Facts): Finding[] {
  const ages = samplesOf(facts, "noisefloor_cache_age_seconds");
  if (ages.length === 0) return [];
  const stale = ages.filter(({ value }) => value > STALE_SECONDS);
  if (stale.length === 0) return [ok("caches", `all younger than ${STALE_SECONDS} s`)];
  const names = stale.map(({ labels, value }) => `${labels.cache} (${formatAge(value * 1_000)})`).join(", ");
  return [
    failure(
      "caches",
      `not refreshed: ${names}; revoked keys still work`,
      "ClickHouse cannot be queried; the log says why",
    ),
  ];
}

export function checkCertificate({ certificate, now }: Facts): Finding[] {
  const check = "certificate";
  if (certificate === undefined) return [];
  if ("error" in certificate) return [failure(check, certificate.error, "set TLS_CERT_FILE to a readable PEM file")];
  const date = new Date(certificate.value).toISOString();
  const remedy = "renew the file at TLS_CERT_FILE (and its key); services load it without a restart";
  const leftMs = certificate.value - now;
  if (leftMs <= 0) return [failure(check, `expired on ${date}: clients refuse HTTPS`, remedy)];
  const text = `expires in ${formatAge(leftMs)}, on ${date}`;
  return [leftMs < CERTIFICATE_DAYS * DAY_MS ? warning(check, text, remedy) : ok(check, text)];
}

/** An overloaded machine makes everything else late. */
export function checkLoad({ load }: Facts): Finding[] {
  if (load < HIGH_LOAD) return [];
  const text = `${load.toFixed(1)} processes want to run for each processor`;
  return [warning("load", text, "see top: end what is not needed; checks may find no answer in time meanwhile")];
}

/** Unattended updates (BENIGN_UPDATE) of the processes that run. */
export function checkBenignUpdates(facts: Facts): Finding[] {
  const counts = samplesOf(facts, "noisefloor_benign_updates_total");
  const of = (outcome: string) =>
    counts.filter(({ labels }) => labels.outcome === outcome).reduce((sum, { value }) => sum + value, 0);
  if (counts.length === 0 || of("failed") === 0) return [];
  const text = `${of("failed")} updates of the benign lists failed since the start, ${of("updated")} succeeded`;
  return [warning("benign lists", text, 'try "noisefloor benign update", which says why; the lists stay as they are')];
}

/** The owner of a guarded address that attacks should know. */
export function checkGuard(facts: Facts): Finding[] {
  const maxAttackers = Math.max(
    0,
    ...samplesOf(facts, "noisefloor_feed_attackers_held_back").map(({ value }) => value),
  );
  if (maxAttackers === 0) return [];
  const text = `a feed's guard holds back ${maxAttackers} address${maxAttackers === 1 ? "" : "es"} that attacked`;
  return [warning("guard", text, 'see "noisefloor feeds guard attackers", and tell their owners')];
}

/** Max seconds without a look at the watches, and before a leader that was killed is replaced. */
const MAX_WATCHES_AGE = 120;
/** A receiver may be away for a moment. */
const MANY_UNDELIVERED = 10;

/** Watches that nobody looks after, and events that wait for their receivers. */
export function checkWatches(facts: Facts): Finding[] {
  const most = (name: string) => Math.max(0, ...samplesOf(facts, name).map(({ value }) => value));
  const [age, undelivered] = [most("noisefloor_watches_age_seconds"), most("noisefloor_watches_undelivered")];
  const findings: Finding[] = [];
  if (age > MAX_WATCHES_AGE) {
    const text = `not looked after for ${formatAge(age * 1_000)}: nobody is told of anything`;
    findings.push(failure("watches", text, "see the log of the service; nothing is lost, it is told later"));
  }
  if (undelivered >= MANY_UNDELIVERED) {
    const remedy = 'see "noisefloor watches", and the deliveries of each, which name the error';
    findings.push(warning("watches", `${undelivered} deliveries of events wait for their receivers`, remedy));
  }
  return findings;
}

/** Max age of a feed, in seconds: a list that takes long to refresh rests for five minutes. */
const MAX_FEED_AGE = 600;

/** Feeds that are old, whose refresh fails, or that lost half of their addresses at once. */
export function checkFeeds(facts: Facts): Finding[] {
  const of = (name: string, isBad: (value: number) => boolean, textOf: (value: number) => string) =>
    samplesOf(facts, name)
      .filter(({ value }) => isBad(value))
      .map(({ labels, value }) => `${labels.feed} of ${labels.workspace} (${textOf(value)})`);
  const old = of(
    "noisefloor_feed_age_seconds",
    (age) => age > MAX_FEED_AGE,
    (age) => `${Math.round(age / 60)} minutes`,
  );
  const failing = of(
    "noisefloor_feed_refresh_failures",
    (failures) => failures > 1,
    (failures) => `${failures} failures`,
  );
  const fallen = of(
    "noisefloor_feed_fell_from",
    (from) => from > 0,
    (from) => `from ${from}`,
  );
  const silent = of(
    "noisefloor_feed_silent_tokens",
    (tokens) => tokens > 0,
    (tokens) => `${tokens} of its tokens`,
  );
  return [
    ...(old.length === 0 ? [] : [failure("feeds", `not refreshed: ${old.join(", ")}`, FAILING_REMEDY)]),
    ...(failing.length === 0 ? [] : [warning("feeds", `refresh fails: ${failing.join(", ")}`, FAILING_REMEDY)]),
    ...(fallen.length === 0
      ? []
      : [warning("feeds", `lost half of their addresses: ${fallen.join(", ")}`, FALL_REMEDY)]),
    ...(silent.length === 0 ? [] : [warning("feeds", `no longer read for a day: ${silent.join(", ")}`, SILENT_REMEDY)]),
  ];
}
const FAILING_REMEDY = 'the log says why, in "refresh of a feed failed"; readers get the last list meanwhile';
const SILENT_REMEDY =
  '"noisefloor feeds token list NAME" says when each was used last: look after the consumer, or revoke its token';
const FALL_REMEDY = 'see "noisefloor feeds history NAME", and whether the sensors still send';

/** When observations were stored last, by whichever way they came, in milliseconds since 1970 UTC. */
export function lastInsertOf(facts: Facts): number | undefined {
  const times = samplesOf(facts, "noisefloor_last_insert_timestamp_seconds").map(({ value }) => value * 1_000);
  const stored = "value" in facts.store.facts ? knownOf(facts.store.facts.value.newestReceipt) : undefined;
  const newest = Math.max(0, ...times, stored ?? 0);
  return newest === 0 ? undefined : newest;
}

/** More of a file that is not stored yet than a busy sensor writes in the seconds that it may take. */
const MAX_LAG_BYTES = 64 * 1024 * 1024;
const FOLLOW_REMEDIES: Readonly<Record<string, string>> = {
  unreadable: "let the service's user read it: GET /v3/followed says which user that is",
  "unknown-format": 'name its format (FOLLOW=cowrie:/path), or write a field map: "noisefloor formats test" tries it',
  waiting: "GET /v3/followed says what for",
};

/** Files that are not read, or of which much is not stored yet. */
export function checkFollowed(facts: Facts): Finding[] {
  const check = "followed files";
  const files = samplesOf(facts, "noisefloor_followed_files").reduce((sum, { value }) => sum + value, 0);
  if (files === 0) return [];
  const lags = samplesOf(facts, "noisefloor_followed_lag_bytes");
  const findings = Object.entries(FOLLOW_REMEDIES).flatMap(([state, remedy]) => {
    const paths = lags
      .filter(({ labels, value }) => labels.state === state && value > 0)
      .map(({ labels }) => labels.path);
    if (paths.length === 0) return [];
    return [warning(check, `${state}: ${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ", ..." : ""}`, remedy)];
  });
  const late = lags.filter(({ labels, value }) => labels.state === "following" && value > MAX_LAG_BYTES);
  if (late.length > 0) {
    const text = `${late.length} have more than 64 MiB that are not stored yet`;
    findings.push(warning(check, text, "history takes its time; if this does not fall, the log says why inserts fail"));
  }
  return findings.length > 0 ? findings : [ok(check, `${files}, all that they hold is stored within seconds`)];
}
