import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findUnknownVariables, nearestSetting } from "./nearest.ts";
import { SETTINGS } from "./settings.ts";

test.each([
  ["RETENTION_DAY", "RETENTION_DAYS"],
  ["KAFKA_BROKER", "KAFKA_BROKERS"],
  ["KAFKA_BORKERS", "KAFKA_BROKERS"],
  ["KAFKA_GROUP", "KAFKA_GROUP_ID"],
  ["CLICKHOUSE_PASS", "CLICKHOUSE_PASSWORD"],
  ["CLICKHOUSE_URI", "CLICKHOUSE_URL"],
  ["DATADIR", "DATA_DIR"],
  ["LOGLEVEL", "LOG_LEVEL"],
  ["PLAN", undefined],
  ["retention_days", "RETENTION_DAYS"],
  ["NOISEFLOOR_HTTP_PORT", "HTTP_PORT"],
])("%s probably means %s", (name, setting) => {
  expect(nearestSetting(name, SETTINGS)).toBe(setting);
});

test("every setting with one letter too few, too many or in the wrong place is found", () => {
  for (const setting of SETTINGS.filter(({ length }) => length > 6)) {
    const middle = Math.floor(setting.length / 2);
    const [head, tail] = [setting.slice(0, middle), setting.slice(middle + 1)];
    for (const name of [head + tail, `${head}QX${tail}`.replace("QX", "Q"), `${setting}S`]) {
      if (!SETTINGS.includes(name)) expect([name, nearestSetting(name, SETTINGS)]).toEqual([name, expect.any(String)]);
    }
  }
});

test("a variable with our prefix is always named", () => {
  expect(findUnknownVariables(["NOISEFLOOR_COLOUR", "HTTP_PORT"], SETTINGS)).toEqual([
    { name: "NOISEFLOOR_COLOUR", nearest: undefined },
  ]);
});

/** What shells, containers, cloud machines, CI, Kafka's and ClickHouse's own images set. */
const COMMON =
  `PATH HOME LANG LC_ALL SHELL USER LOGNAME PWD OLDPWD TERM TMPDIR HOSTNAME EDITOR DISPLAY MAIL SHLVL TZ _ CI DEBUG
HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE
NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_VERSION NPM_CONFIG_CACHE npm_package_version npm_config_registry YARN_VERSION
XDG_DATA_DIRS XDG_CONFIG_DIRS XDG_CACHE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR DOCKER_HOST JAVA_HOME PYTHONPATH VIRTUAL_ENV
KAFKA_HOME KAFKA_PORT KAFKA_OPTS KAFKA_HEAP_OPTS KAFKA_SERVICE_HOST KAFKA_PORT_9092_TCP KAFKA_LISTENERS KAFKA_NODE_ID
CLICKHOUSE_DB CLICKHOUSE_PORT CLICKHOUSE_HOST CLICKHOUSE_SERVICE_HOST REDIS_PORT REDIS_HOST REDIS_SERVICE_HOST
AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION GITHUB_TOKEN KUBERNETES_PORT KUBERNETES_SERVICE_HOST INVOCATION_ID
JOURNAL_STREAM STATE_DIRECTORY CACHE_DIRECTORY SYSTEMD_EXEC_PID NOTIFY_SOCKET MAINPID PORT HOST LISTEN_FDS`.split(
    /\s+/,
  );

test("variables of other programs are left alone, those of docker-compose.yml too", () => {
  const compose = readFileSync(new URL("../../infra/docker/env.example", import.meta.url), "utf8");
  const names = [...compose.matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, name = ""]) => name);
  expect(findUnknownVariables([...COMMON, ...names], SETTINGS)).toEqual([]);
});
