import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, type Environment } from "./env.ts";
import { readSettings, settingsSchema } from "./settings.ts";

function messageFor(env: Environment): string {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "valid";
}

/** An invalid value for every variable that does not accept any text. */
const INVALID: Record<string, string> = {
  LOG_LEVEL: "loud",
  RETENTION_DAYS: "0",
  RETENTION_CONFIRM: "yes",
  DEAD_LETTERS_MIB_PER_DAY: "0",
  MIN_FREE_DISK_MIB: "5%",
  DURABLE_INTAKE: "always",
  CLICKHOUSE_URL: "ftp://files.example",
  CLICKHOUSE_DATABASE: "drop table",
  HTTP_PORT: "65536",
  HTTPS_PORT: "https",
  INTAKE_PORT: "-1",
  PUBLIC_URL: "noise.example",
  TRUSTED_PROXIES: "10.0.0.0/8,my-proxy",
  ALLOWED_HOSTS: "https://noise.example",
  SENSOR_KEYS: "0123456789abcdef,fifteen letters",
  CORS_ORIGINS: "https://dashboard.example.org/path",
  QUERY_TIMEOUT_SECONDS: "0",
  QUERY_CAPACITY: "3",
  QUERY_URL: "noise.example",
  ANSWER_MEMORY_MIB: "15",
  MAX_CONNECTIONS_PER_CLIENT: "0",
  ACCESS_LOG: "none",
  LOG_CLIENT_ADDRESSES: "yes",
  PLANS_URL: "noise.example/plans",
  REDIS_URL: "http://cache.example",
  MMDB_PATHS: " , ",
  SMTP_URL: "http://mail.example",
  MAIL_FROM: "nobody",
  WATCH_DESTINATIONS: "0.0.0.0/0",
  BENIGN_UPDATE: "hourly",
  KAFKA_BROKERS: "a:9092,b",
  KAFKA_INSTANCE_ID: "one two",
  KAFKA_CREATE_TOPICS: "maybe",
  KAFKA_PARTITIONS: "1001",
  KAFKA_SESSION_TIMEOUT_SECONDS: "2",
  KAFKA_TLS: "on",
  KAFKA_SASL_MECHANISM: "gssapi",
};

describe("with nothing set", () => {
  test("Noisefloor uses an embedded ClickHouse, listens on loopback only and does not use Kafka", () => {
    expect(readSettings({})).toMatchObject({
      logLevel: "info",
      retentionDays: undefined,
      isDurable: undefined,
      clickhouse: { server: undefined, dataDir: "./.data" },
      grafanaWorkspaces: [],
      http: { host: "127.0.0.1", port: 8080, tls: undefined, publicUrl: undefined, sensorKeys: [] },
      kafka: undefined,
    });
  });

  test("empty variables mean the same", () => {
    const env = Object.fromEntries(Object.keys(settingsSchema.shape).map((name) => [name, ""]));
    expect(readSettings(env)).toEqual(readSettings({}));
  });
});

describe("invalid variables", () => {
  test("are all listed at once", () => {
    fc.assert(
      fc.property(fc.subarray(Object.keys(INVALID), { minLength: 1 }), (names) => {
        const env = Object.fromEntries(names.map((name) => [name, INVALID[name]]));
        const lines = messageFor(env).split("\n").slice(1);
        expect(lines.map((line) => line.trim().split(":")[0]).toSorted()).toEqual(names.toSorted());
      }),
    );
  });

  test.each(Object.keys(INVALID))("%s alone is rejected with a message that says what it takes", (name) => {
    expect(messageFor({ [name]: INVALID[name] })).toMatch(new RegExp(`${name}: takes `));
  });

  test("are listed without their values", () => {
    const secret = fc.stringMatching(/^[0-9a-f]{16}$/).map((hex) => `secret ${hex}!`);
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(settingsSchema.shape)), secret, (name, value) => {
        const message = messageFor({ ...INVALID, [name]: value });
        expect(message).toContain("RETENTION_DAYS");
        expect(message).not.toContain(value.slice(7, -1));
      }),
    );
  });

  test("are listed without the password of a URL", () => {
    const message = messageFor({ CLICKHOUSE_URL: "tcp://me:hunter2@db:9000", PUBLIC_URL: "//me:hunter2@web" });
    expect(message).toMatch(/CLICKHOUSE_URL[\s\S]*PUBLIC_URL/);
    expect(message).not.toContain("hunter2");
  });
});

describe("variables that contradict each other", () => {
  test("are listed together with those that are invalid by themselves", () => {
    const env = {
      HTTP_PORT: "8443",
      QUERY_TIMEOUT_SECONDS: "0",
      TLS_CERT_FILE: "/tls/tls.crt",
      BACKUP_S3_SECRET_KEY: "hunter2",
      KAFKA_BROKERS: "a:9092",
      KAFKA_SASL_USERNAME: "me",
    };
    expect(messageFor(env).split("\n").slice(1)).toEqual([
      expect.stringMatching(/^ {2}QUERY_TIMEOUT_SECONDS: takes /),
      "  TLS_KEY_FILE: is not set, but TLS_CERT_FILE is: set both or neither",
      expect.stringMatching(/^ {2}HTTPS_PORT: must not be HTTP_PORT/),
      "  BACKUP_S3_ACCESS_KEY: is not set, but BACKUP_S3_SECRET_KEY is: set both or neither",
      "  KAFKA_SASL_MECHANISM: is not set, but KAFKA_SASL_USERNAME is: set both or neither",
      "  KAFKA_SASL_PASSWORD: is not set, but KAFKA_SASL_USERNAME is: set both or neither",
    ]);
  });

  test("are not listed when one of them is invalid by itself", () => {
    expect(messageFor({ KAFKA_BROKERS: "a:9092", KAFKA_SASL_MECHANISM: "x" }).split("\n")).toHaveLength(2);
  });
});

describe("plans", () => {
  test("the message lists every wrong member and why", () => {
    const wrong = { standard: { reach_days: 91 }, mine: { lookups_per_day: 0, reach: 3 } };
    const message = messageFor({ PLANS: JSON.stringify(wrong) });
    expect(message).toContain("PLANS: takes JSON like");
    for (const expected of [
      "standard.reach_days must be at most 90",
      "mine.lookups_per_day must be at least 1",
      "mine.reach_days is missing",
      'mine has unknown members: "reach"',
    ]) {
      expect(message).toContain(expected);
    }
  });

  test.each(["hunter2", '"hunter2"', "[]", "{"])("%s is rejected with an example", (text) => {
    expect(messageFor({ PLANS: text })).toMatch(/PLANS: takes JSON like \S+$/);
  });
});

describe("the ranges of numbers", () => {
  test.each([
    ["RETENTION_DAYS", "1", "3650", "3651"],
    ["DEAD_LETTERS_MIB_PER_DAY", "1", "1000000", "1000001"],
    ["MIN_FREE_DISK_MIB", "0", "100000000", "100000001"],
    ["HTTP_PORT", "0", "65535", "65536"],
    ["HTTPS_PORT", "0", "65535", "65536"],
    ["KAFKA_PARTITIONS", "1", "1000", "1001"],
    ["KAFKA_SESSION_TIMEOUT_SECONDS", "3", "1800", "1801"],
  ])("%s is %s to %s", (name, min, max, beyond) => {
    expect(messageFor({ [name]: min })).toBe("valid");
    expect(messageFor({ [name]: max })).toBe("valid");
    expect(messageFor({ [name]: beyond })).toContain(`${name}: takes a whole number from ${min} to ${max}`);
  });
});

describe("a ClickHouse server", () => {
  test("needs only its URL", () => {
    expect(messageFor({ CLICKHOUSE_CLUSTER: "noise" })).toMatch(/CLICKHOUSE_CLUSTER.*set that, too/);
    const clustered = { CLICKHOUSE_URL: "http://db:8123", CLICKHOUSE_CLUSTER: "noise" };
    expect(readSettings(clustered).clickhouse.server).toMatchObject({ cluster: "noise" });
    expect(readSettings({ CLICKHOUSE_URL: "http://db:8123" }).clickhouse.server).toEqual({
      url: "http://db:8123",
      username: "default",
      password: "",
      database: "noisefloor",
    });
  });

  test.each(["scans; drop", "1scans", "a-b", "a.b", "x".repeat(64)])("rejects the database name %j", (name) => {
    expect(messageFor({ CLICKHOUSE_DATABASE: name })).toContain("CLICKHOUSE_DATABASE");
  });
});

describe("HTTPS", () => {
  const both = { TLS_CERT_FILE: "/tls/tls.crt", TLS_KEY_FILE: "/tls/tls.key" };

  test("is enabled by a certificate and its key, on a port of its own", () => {
    const files = { certFile: "/tls/tls.crt", keyFile: "/tls/tls.key" };
    expect(readSettings(both).http.tls).toEqual({ ...files, port: 8443 });
    expect(readSettings({ ...both, HTTPS_PORT: "443" }).http.tls).toEqual({ ...files, port: 443 });
    expect(readSettings({ HTTPS_PORT: "443" }).http.tls).toBeUndefined();
  });

  test.each(["TLS_CERT_FILE", "TLS_KEY_FILE"])("is an error without %s", (missing) => {
    expect(messageFor({ ...both, [missing]: "" })).toMatch(
      new RegExp(`\\n {2}${missing}: is not set, but TLS_\\w+_FILE is: set both or neither$`),
    );
  });

  test("cannot share the port of HTTP, unless that is 0 for any free port", () => {
    const message = /HTTPS_PORT: must not be HTTP_PORT/;
    expect(messageFor({ ...both, HTTP_PORT: "8443" })).toMatch(message);
    expect(messageFor({ ...both, HTTP_PORT: "443", HTTPS_PORT: "443" })).toMatch(message);
    expect(messageFor({ ...both, HTTP_PORT: "0", HTTPS_PORT: "0" })).toBe("valid");
    expect(messageFor({ HTTP_PORT: "8443" }), "without a certificate there is no HTTPS port").toBe("valid");
  });

  test("may offer the intake alone on one more port, which no other may have", () => {
    expect(readSettings({ ...both, INTAKE_PORT: "64294" }).http.tls).toMatchObject({ port: 8443, intakePort: 64294 });
    for (const taken of [{ INTAKE_PORT: "8443" }, { INTAKE_PORT: "8080" }, { INTAKE_PORT: "1", HTTPS_PORT: "1" }]) {
      expect(messageFor({ ...both, ...taken })).toMatch(/INTAKE_PORT: must be neither HTTP_PORT nor HTTPS_PORT/);
    }
    expect(messageFor({ ...both, INTAKE_PORT: "0", HTTP_PORT: "0", HTTPS_PORT: "0" })).toBe("valid");
    expect(messageFor({ INTAKE_PORT: "64294" })).toMatch(
      /INTAKE_PORT: is for HTTPS only: set TLS_CERT_FILE and TLS_KEY/,
    );
  });
});

describe("Kafka", () => {
  test("is enabled by a broker", () => {
    expect(readSettings({ KAFKA_BROKERS: "a:9092, b:9092" }).kafka).toMatchObject({
      connection: { brokers: ["a:9092", "b:9092"], clientId: "noisefloor", tls: false, sasl: undefined },
      groupId: "noisefloor-ingest",
      topic: "scan.observations",
      createTopics: true,
      partitions: 3,
    });
    expect(readSettings({ KAFKA_BROKERS: "", KAFKA_TLS: "true" }).kafka).toBeUndefined();
  });

  test.each(["plain", "scram-sha-256", "scram-sha-512"])("can authenticate with %s", (mechanism) => {
    const env = { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: "me", KAFKA_SASL_PASSWORD: "pass" };
    expect(readSettings({ ...env, KAFKA_BROKERS: "a:9092" }).kafka?.connection.sasl).toEqual({
      mechanism,
      username: "me",
      password: "pass",
    });
  });
});

test("the public URL loses its trailing slashes, as paths are appended to it", () => {
  const publicUrlOf = (url: string) => readSettings({ PUBLIC_URL: url }).http.publicUrl;
  expect(publicUrlOf("https://noise.example/")).toBe("https://noise.example");
  expect(publicUrlOf("https://noise.example/base//")).toBe("https://noise.example/base");
});

test.each(["https://noise.example/?a=b", "https://noise.example/#top", "https://noise.example?"])(
  "the public URL may not be %s, as paths are appended to it",
  (url) => expect(messageFor({ PUBLIC_URL: url })).toMatch(/PUBLIC_URL: takes a URL without a query/),
);

test("sensor keys are a list of keys of at least 16 characters", () => {
  const keys = ["0123456789abcdef", "key-of-one-sensor"];
  expect(readSettings({ SENSOR_KEYS: keys.join(", ") }).http.sensorKeys).toEqual(keys);
  for (const short of ["0123456789abcde", `${keys[0]},short`]) {
    expect(messageFor({ SENSOR_KEYS: short })).toContain("SENSOR_KEYS: takes keys of at least 16 characters");
  }
});

test("the lists of benign networks are updated daily only if that is asked for", () => {
  expect(readSettings({}).updatesBenignDaily).toBe(false);
  expect(readSettings({ BENIGN_UPDATE: "daily" }).updatesBenignDaily).toBe(true);
});

test("the files of networks and countries are a list of paths", () => {
  expect(readSettings({ MMDB_PATHS: "/data/city.mmdb, /data/asn.mmdb" }).mmdbPaths).toEqual([
    "/data/city.mmdb",
    "/data/asn.mmdb",
  ]);
});

describe("allowed hosts", () => {
  test.each(["noise.example", "Noise.Example, query", "*"])("may be %s", (text) => {
    expect(readSettings({ ALLOWED_HOSTS: text }).http.allowedHosts).toEqual(text.split(", "));
  });

  test.each(["http://noise.example", "noise.example:8080", "noise.example/", "a b", "*.noise.example/"])(
    "may not be %s",
    (text) => expect(messageFor({ ALLOWED_HOSTS: text })).toMatch(/ALLOWED_HOSTS: takes names/),
  );
});

describe("trusted proxies", () => {
  test.each(["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8", "10.0.0.1, 192.168.0.0/16"])("may be %s", (text) => {
    expect(readSettings({ TRUSTED_PROXIES: text }).http.trustedProxies).toEqual(text.split(", "));
  });

  test.each([
    ...["10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0", "true", "10.0.0.0/-1"],
    ...["10.0.0.0/008", "0.0.0.0/0", "::/0", "10.0.0.0/8, 0.0.0.0/00"],
  ])("may not be %s", (text) => {
    expect(messageFor({ TRUSTED_PROXIES: text })).toMatch(/TRUSTED_PROXIES: takes /);
  });
});

test("the two keys of S3 are set together", () => {
  expect(messageFor({ BACKUP_S3_ACCESS_KEY: "hunter2" })).toMatch(/BACKUP_S3_SECRET_KEY: is not set, but/);
  expect(messageFor({ BACKUP_S3_SECRET_KEY: "hunter2" })).not.toContain("hunter2");
  const keys = { accessKey: "a", secretKey: "s" };
  expect(readSettings({ BACKUP_S3_ACCESS_KEY: "a", BACKUP_S3_SECRET_KEY: "s" }).backupS3).toEqual(keys);
});

test("zones of sensors are pairs of a name and a zone that exists", () => {
  const zones = (text: string) => readSettings({ SENSOR_TIME_ZONES: text }).sensorLogs.timeZones;
  expect(zones("cellar=Europe/Berlin, a=b=UTC,*=Etc/GMT+5")).toEqual([
    ["cellar", "Europe/Berlin"],
    ["a=b", "UTC"],
    ["*", "Etc/GMT+5"],
  ]);
  for (const wrong of ["cellar", "cellar=Nowhere/City", "=UTC", "Europe/Berlin"]) {
    expect(() => zones(wrong)).toThrow(/SENSOR_TIME_ZONES/);
  }
});
