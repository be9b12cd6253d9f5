import { expect, test } from "vitest";
import { parseConfigFile } from "./config-file.ts";
import { ConfigError } from "./env.ts";
import { readSettings, SETTINGS } from "./settings.ts";

const parse = (text: string) => parseConfigFile(text, "noisefloor.yaml", SETTINGS);
const read = (text: string, env: Record<string, string> = {}) => readSettings(env, parse(text));

function errorOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "valid";
}

test("a file sets what the environment sets, by the same names", () => {
  const file = `# what this machine does
RETENTION_DAYS: 90
DURABLE_INTAKE: true
PUBLIC_URL: https://noisefloor.example.org/
OWN_ADDRESSES: [192.0.2.1, 198.51.100.0/24]
PORT_REWRITES:
  - 2222=22
  - 2223=23
KAFKA_BROKERS: kafka-1:9092, kafka-2:9092
PLANS:
  standard: { lookups_per_day: 20000, reach_days: 30 }
METRICS_TOKEN:
`;
  const env = {
    RETENTION_DAYS: "90",
    DURABLE_INTAKE: "true",
    PUBLIC_URL: "https://noisefloor.example.org/",
    OWN_ADDRESSES: "192.0.2.1,198.51.100.0/24",
    PORT_REWRITES: "2222=22,2223=23",
    KAFKA_BROKERS: "kafka-1:9092, kafka-2:9092",
    PLANS: '{"standard":{"lookups_per_day":20000,"reach_days":30}}',
  };
  expect(read(file)).toEqual(readSettings(env));
});

test("the environment wins, and an empty variable does not count", () => {
  const file = "HTTP_PORT: 9000\nRETENTION_DAYS: 90\n";
  const settings = read(file, { HTTP_PORT: "9001", RETENTION_DAYS: "" });
  expect([settings.http.port, settings.retentionDays]).toEqual([9_001, 90]);
});

test("text stays as it is written: a password of digits, an octal number, a yes", () => {
  const { values } = parse(
    "CLICKHOUSE_PASSWORD: 0123\nKAFKA_SASL_PASSWORD: 1e3\nMETRICS_TOKEN: yes\nREDIS_URL: '0x10'",
  );
  expect(values).toEqual({
    CLICKHOUSE_PASSWORD: "0123",
    KAFKA_SASL_PASSWORD: "1e3",
    METRICS_TOKEN: "yes",
    REDIS_URL: "0x10",
  });
});

test("an empty file sets nothing", () => {
  for (const text of ["", "# nothing\n", "---\n", "{}"]) expect(parse(text).values).toEqual({});
});

test("a wrong value is the error that it is in the environment, and names the file", () => {
  const message = errorOf(() => read("RETENTION_DAYS: soon\nHTTP_PORT: 70000\n", { HTTP_PORT: "many" }));
  expect(message.split("\n")).toEqual([
    "invalid configuration:",
    "  RETENTION_DAYS (noisefloor.yaml): takes a whole number from 1 to 3650",
    "  HTTP_PORT: takes a whole number from 0 to 65535",
  ]);
  expect(errorOf(() => read("TLS_CERT_FILE: cert.pem"))).toContain("TLS_KEY_FILE: is not set, but TLS_CERT_FILE is");
});

test("a file lists all settings that there are not, with their lines and the nearest right ones", () => {
  expect(
    errorOf(() => parse("RETENTION_DAY: 90\nHTTP_PORT: 1\nkafka_brokers: x:1\ncolour: red\n")).split("\n"),
  ).toEqual([
    "invalid configuration file noisefloor.yaml:",
    '  line 1: there is no setting "RETENTION_DAY": did you mean RETENTION_DAYS?',
    '  line 3: there is no setting "kafka_brokers": did you mean KAFKA_BROKERS?',
    '  line 4: there is no setting "colour"',
  ]);
});

test.each([
  ["a list", "- RETENTION_DAYS: 90"],
  ["a text", "RETENTION_DAYS=90"],
  ["a setting twice", "METRICS_TOKEN: a\nMETRICS_TOKEN: b-secret"],
  ["an open quote", 'METRICS_TOKEN: "b-secret'],
  ["a tab", "PLANS:\n\tstandard: b-secret"],
  ["a list of maps", "SENSOR_KEYS: [{ key: b-secret }]"],
  ["a comma in a list's item", "SENSOR_KEYS: ['b-secret,c']"],
  ["an alias", "METRICS_TOKEN: &a b-secret\nREDIS_URL: *a"],
  ["two documents", "METRICS_TOKEN: a\n---\nMETRICS_TOKEN: b-secret"],
])("%s is an error that quotes no value", (_what, text) => {
  const message = errorOf(() => parse(text));
  expect(message).toMatch(/^invalid configuration file noisefloor\.yaml:\n {2}\S/);
  expect(message).not.toContain("secret");
});
