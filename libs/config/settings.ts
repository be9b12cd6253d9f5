import { isWorkspaceId, WORKSPACE_ID_CHARACTERS } from "@noisefloor/domain/access/workspace-id.ts";
import { ACCESS_LOGS, LOG_LEVELS } from "@noisefloor/telemetry/logger.ts";
import { z } from "zod";
import {
  type Check,
  type ConfigFile,
  type Environment,
  flag,
  list,
  optionalFlag,
  readEnvironment,
  wholeNumber,
} from "./env.ts";
import {
  isBroker,
  isHostName,
  isHttpUrl,
  isMailAddress,
  isNameServer,
  isNetwork,
  isOrigin,
  isPortRewrite,
  isRawTopic,
  isSensorTimeZone,
  isSmtpUrl,
  splitSensorTimeZone,
} from "./formats.ts";
import { MEMORY_LIMITS } from "./memory.ts";
import { PLACEHOLDER_CHECKS } from "./placeholders.ts";
import { plans } from "./plans.ts";

/** 64 bits even in hexadecimal: too many keys to try over a network. */
const MIN_SENSOR_KEY_LENGTH = 16;

const MEBIBYTE = 2 ** 20;

/** Every environment variable that Noisefloor reads, with its default. docs/configuration.md describes each. */
export const settingsSchema = z.object({
  LOG_LEVEL: z.enum(LOG_LEVELS, `takes one of ${LOG_LEVELS.join(", ")}`).default("info"),
  RETENTION_DAYS: wholeNumber(1, 3_650).optional(),
  RETENTION_CONFIRM: wholeNumber(1, 3_650).optional(),
  DEAD_LETTERS_MIB_PER_DAY: wholeNumber(1, 1_000_000).default(64),
  MIN_FREE_DISK_MIB: wholeNumber(0, 100_000_000).optional(),
  DURABLE_INTAKE: optionalFlag(),
  TAG_RULES_DIR: z.string().optional(),
  MMDB_PATHS: list("takes paths of files, separated by commas"),
  REVERSE_DNS: z.enum(["off", "on"], "takes off or on").default("off"),
  DNS_SERVERS: list("takes addresses like 127.0.0.1 or 127.0.0.1:5353, separated by commas", isNameServer),
  BENIGN_UPDATE: z.enum(["off", "daily"], "takes off or daily").default("off"),

  DATA_DIR: z.string().default("./.data"),
  CLICKHOUSE_URL: list("takes an http or https URL like http://127.0.0.1:8123", isHttpUrl).refine(
    // Error messages and logs contain URLs and must not contain passwords.
    (urls) => urls.every((url) => !URL.canParse(url) || new URL(url).username === ""),
    "takes no user in the URL: set CLICKHOUSE_USER and CLICKHOUSE_PASSWORD",
  ),
  CLICKHOUSE_MEMORY_MIB: wholeNumber(128, 1_000_000).optional(),
  CLICKHOUSE_USER: z.string().default("default"),
  CLICKHOUSE_PASSWORD: z.string().default(""),
  CLICKHOUSE_DATABASE: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, "takes a name of letters, digits and _")
    .default("noisefloor"),
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_.-]{0,62}$/,
      "takes the name of a cluster: letters, digits, underscores, dots and hyphens",
    )
    .optional(),
  GRAFANA_WORKSPACES: list(`takes ids of workspaces (${WORKSPACE_ID_CHARACTERS}), separated by commas`, isWorkspaceId),

  HTTP_HOST: z.string().default("127.0.0.1"),
  HTTP_PORT: wholeNumber(0, 65_535).default(8_080),
  HTTPS_PORT: wholeNumber(0, 65_535).default(8_443),
  INTAKE_PORT: wholeNumber(0, 65_535).optional(),
  TLS_CERT_FILE: z.string().optional(),
  TLS_KEY_FILE: z.string().optional(),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: "takes an http or https URL" })
    // Links are this URL with a path appended.
    .refine((url) => !/[?#]/.test(url), "takes a URL without a query (?) or a fragment (#)")
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  ALLOWED_HOSTS: list("takes names like noisefloor.example.org, without ports, separated by commas, or *", isHostName),
  SENSOR_KEYS: list(
    `takes keys of at least ${MIN_SENSOR_KEY_LENGTH} characters, separated by commas`,
    (key) => key.length >= MIN_SENSOR_KEY_LENGTH,
  ),
  PLANS: plans(),
  PLANS_URL: z.url({ protocol: /^https?$/, error: "takes an http or https URL" }).optional(),
  TRUSTED_PROXIES: list(
    "takes addresses and networks like 10.0.0.0/8 (but none of prefix 0), separated by commas",
    isNetwork,
  ),
  CORS_ORIGINS: list("takes origins like https://dashboard.example.org, separated by commas, or *", isOrigin),
  QUERY_TIMEOUT_SECONDS: wholeNumber(1, 600).default(30),
  QUERY_CAPACITY: wholeNumber(4, 10_000).optional(),
  QUERY_URL: z.url({ protocol: /^https?$/, error: "takes an http or https URL" }).optional(),
  QUERY_KEY: z.string().optional(),
  INTAKE_URL: z.url({ protocol: /^https?$/, error: "takes an http or https URL" }).optional(),
  INTAKE_KEY: z.string().optional(),
  LOOKUP_INDEX_ADDRESSES: wholeNumber(0, 1_000_000_000).default(50_000_000),
  SEARCH_MEMORY_MIB: wholeNumber(0, 65_536).default(MEMORY_LIMITS.searches / MEBIBYTE),
  ANSWER_MEMORY_MIB: wholeNumber(16, 65_536).default(MEMORY_LIMITS.answers / MEBIBYTE),
  MAX_CONNECTIONS_PER_CLIENT: wholeNumber(1, 100_000).default(512),
  ACCESS_LOG: z.enum(ACCESS_LOGS, `takes one of ${ACCESS_LOGS.join(", ")}`).default("sampled"),
  LOG_CLIENT_ADDRESSES: flag(false),
  METRICS_TOKEN: z.string().optional(),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: "takes a redis or rediss URL" }).optional(),

  FEEDS_LIST_SPOOFABLE: flag(false),
  OWN_ADDRESSES: list("takes addresses and networks of your sensors, separated by commas", isNetwork),
  PORT_REWRITES: list("takes pairs like 2222=22, separated by commas", isPortRewrite),
  SENSOR_TIME_ZONES: list(
    "takes pairs like cellar=Europe/Berlin, of a sensor, a format or * and a zone, separated by commas",
    isSensorTimeZone,
  ),
  COUNT_ACCEPTED_PACKETS: flag(false),
  FIELD_MAPS: list("takes paths of YAML files, separated by commas", (path) => path !== ""),

  FOLLOW: list("takes paths like /var/log/cowrie/cowrie.json*, separated by commas", (path) => path !== ""),
  TPOT_DATA: z.string().optional(),

  HPFEEDS_URL: z
    .url({ protocol: /^hpfeedss?$/, error: "takes a URL like hpfeeds://ident:secret@broker.example.org:10000" })
    .refine((url) => !URL.canParse(url) || new URL(url).username !== "", "takes an ident and a secret in the URL")
    .optional(),
  HPFEEDS_CHANNELS: list("takes names of channels, separated by commas", (name) => name !== ""),

  SYSLOG_PORT: wholeNumber(0, 65_535).optional(),
  SYSLOG_SENDERS: list("takes addresses and networks like 192.0.2.0/24, separated by commas", isNetwork),

  ELASTICSEARCH_API_KEY: z.string().optional(),

  SMTP_URL: z
    .string()
    .refine(isSmtpUrl, "takes a URL like smtps://user:password@mail.example.org or smtp://mail.example.org:587")
    .optional(),
  MAIL_FROM: z
    .string()
    .refine(isMailAddress, "takes an address like noisefloor@example.org or Noisefloor <noisefloor@example.org>")
    .optional(),
  WATCHES_FILE: z.string().optional(),
  WATCH_DESTINATIONS: list("takes addresses and networks like 127.0.0.1, separated by commas", isNetwork),

  BACKUP_S3_ACCESS_KEY: z.string().optional(),
  BACKUP_S3_SECRET_KEY: z.string().optional(),

  KAFKA_BROKERS: list("takes addresses like kafka.example.org:9092, separated by commas", isBroker),
  KAFKA_CLIENT_ID: z.string().default("noisefloor"),
  KAFKA_GROUP_ID: z.string().default("noisefloor-ingest"),
  KAFKA_INSTANCE_ID: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,100}$/, "takes letters, digits, dots, _ and -")
    .optional(),
  KAFKA_TOPIC: z.string().default("scan.observations"),
  KAFKA_RAW_TOPICS: list("takes pairs like cowrie=cowrie or honeypots=auto, separated by commas", isRawTopic),
  KAFKA_CREATE_TOPICS: flag(true),
  KAFKA_PARTITIONS: wholeNumber(1, 1_000).default(3),
  KAFKA_SESSION_TIMEOUT_SECONDS: wholeNumber(3, 1_800).default(30),
  KAFKA_TLS: flag(false),
  KAFKA_SASL_MECHANISM: z
    .enum(["plain", "scram-sha-256", "scram-sha-512"], "takes plain, scram-sha-256 or scram-sha-512")
    .optional(),
  KAFKA_SASL_USERNAME: z.string().default(""),
  KAFKA_SASL_PASSWORD: z.string().default(""),
});

const DEFAULT_HPFEEDS_PORT = 10_000;

type Variables = z.output<typeof settingsSchema>;

/** Checks that both of two variables are set, or neither. */
function pair(
  one: keyof Variables & string,
  other: keyof Variables & string,
  applies: (variables: Variables) => boolean = () => true,
): readonly Check<Variables>[] {
  const missing = (name: typeof one, present: typeof one): Check<Variables> => ({
    of: [name, present],
    message: `is not set, but ${present} is: set both or neither`,
    isMet: (variables) => !applies(variables) || isSet(variables[name]) || !isSet(variables[present]),
  });
  return [missing(one, other), missing(other, one)];
}

const isSet = (value: Variables[keyof Variables]) => value !== undefined && value !== "";
const hasBrokers = ({ KAFKA_BROKERS }: Variables) => KAFKA_BROKERS.length > 0;

const CHECKS: readonly Check<Variables>[] = [
  ...PLACEHOLDER_CHECKS,
  {
    of: ["KAFKA_RAW_TOPICS"],
    message: "names a topic twice, or KAFKA_TOPIC, whose messages are observations",
    isMet({ KAFKA_RAW_TOPICS, KAFKA_TOPIC }) {
      const topics = [KAFKA_TOPIC, ...KAFKA_RAW_TOPICS.map((pair) => pair.split("=")[0])];
      return new Set(topics).size === topics.length;
    },
  },
  {
    of: ["CLICKHOUSE_CLUSTER", "CLICKHOUSE_URL"],
    message: "is a cluster of the server at CLICKHOUSE_URL: set that, too",
    isMet: ({ CLICKHOUSE_CLUSTER, CLICKHOUSE_URL }) => CLICKHOUSE_CLUSTER === undefined || CLICKHOUSE_URL.length > 0,
  },
  {
    of: ["CLICKHOUSE_URL", "CLICKHOUSE_CLUSTER"],
    message: "takes several servers only of a cluster: set CLICKHOUSE_CLUSTER, too",
    isMet: ({ CLICKHOUSE_CLUSTER, CLICKHOUSE_URL }) => CLICKHOUSE_CLUSTER !== undefined || CLICKHOUSE_URL.length < 2,
  },
  ...pair("TLS_CERT_FILE", "TLS_KEY_FILE"),
  {
    of: ["HTTPS_PORT", "HTTP_PORT"],
    message: "must not be HTTP_PORT: HTTPS listens on a port of its own",
    // Both may be 0, for any free port.
    isMet: ({ TLS_CERT_FILE, TLS_KEY_FILE, HTTPS_PORT, HTTP_PORT }) =>
      (TLS_CERT_FILE === undefined && TLS_KEY_FILE === undefined) || HTTPS_PORT !== HTTP_PORT || HTTPS_PORT === 0,
  },
  {
    of: ["INTAKE_PORT", "TLS_CERT_FILE", "TLS_KEY_FILE"],
    message: "is for HTTPS only: set TLS_CERT_FILE and TLS_KEY_FILE",
    isMet: ({ INTAKE_PORT, TLS_CERT_FILE, TLS_KEY_FILE }) =>
      INTAKE_PORT === undefined || TLS_CERT_FILE !== undefined || TLS_KEY_FILE !== undefined,
  },
  {
    of: ["INTAKE_PORT", "HTTP_PORT", "HTTPS_PORT"],
    message: "must be neither HTTP_PORT nor HTTPS_PORT: it offers the intake alone",
    isMet: ({ INTAKE_PORT, HTTP_PORT, HTTPS_PORT }) =>
      INTAKE_PORT === undefined || INTAKE_PORT === 0 || ![HTTP_PORT, HTTPS_PORT].includes(INTAKE_PORT),
  },
  {
    of: ["HPFEEDS_URL", "HPFEEDS_CHANNELS"],
    message: "are set both or neither: a broker sends nothing but the channels that it is asked for",
    isMet: ({ HPFEEDS_URL, HPFEEDS_CHANNELS }) => (HPFEEDS_URL !== undefined) === HPFEEDS_CHANNELS.length > 0,
  },
  ...pair("SMTP_URL", "MAIL_FROM"),
  ...pair("BACKUP_S3_ACCESS_KEY", "BACKUP_S3_SECRET_KEY"),
  // Without a mechanism, the client would ignore user name and password and connect unauthenticated.
  ...pair("KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", hasBrokers),
  ...pair("KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD", hasBrokers),
];

export type Settings = ReturnType<typeof readSettings>;

/** The names of all settings: environment variables, and members of a configuration file. */
export const SETTINGS: readonly string[] = Object.keys(settingsSchema.shape);

/** Reads and groups all settings; the environment wins over the file. @throws ConfigError that lists every error. */
export function readSettings(env: Environment, file?: ConfigFile) {
  const variables = readEnvironment(settingsSchema, env, CHECKS, file);
  return {
    logLevel: variables.LOG_LEVEL,
    retentionDays: variables.RETENTION_DAYS,
    retentionConfirm: variables.RETENTION_CONFIRM,
    deadLetterBytesPerDay: variables.DEAD_LETTERS_MIB_PER_DAY * MEBIBYTE,
    minFreeDiskBytes: variables.MIN_FREE_DISK_MIB === undefined ? undefined : variables.MIN_FREE_DISK_MIB * MEBIBYTE,
    isDurable: variables.DURABLE_INTAKE,
    tagRulesDirectory: variables.TAG_RULES_DIR,
    mmdbPaths: variables.MMDB_PATHS,
    reverseDns: variables.REVERSE_DNS === "on" ? { servers: variables.DNS_SERVERS } : undefined,
    updatesBenignDaily: variables.BENIGN_UPDATE === "daily",
    clickhouse: clickhouseSettings(variables),
    grafanaWorkspaces: variables.GRAFANA_WORKSPACES,
    http: {
      host: variables.HTTP_HOST,
      port: variables.HTTP_PORT,
      tls: tlsSettings(variables),
      publicUrl: variables.PUBLIC_URL,
      allowedHosts: variables.ALLOWED_HOSTS,
      sensorKeys: variables.SENSOR_KEYS,
      trustedProxies: variables.TRUSTED_PROXIES,
      corsOrigins: variables.CORS_ORIGINS,
      accessLog: variables.ACCESS_LOG,
      logsClientAddresses: variables.LOG_CLIENT_ADDRESSES,
      metricsToken: variables.METRICS_TOKEN,
      limits: {
        ...(variables.QUERY_CAPACITY !== undefined && { queryCapacity: variables.QUERY_CAPACITY }),
        responseMemoryBytes: variables.ANSWER_MEMORY_MIB * MEBIBYTE,
        connectionsPerClient: variables.MAX_CONNECTIONS_PER_CLIENT,
      },
    },
    feeds: { listsSpoofable: variables.FEEDS_LIST_SPOOFABLE },
    sensorLogs: {
      ownAddresses: variables.OWN_ADDRESSES,
      portRewrites: variables.PORT_REWRITES,
      timeZones: variables.SENSOR_TIME_ZONES.map(splitSensorTimeZone),
      countsAcceptedPackets: variables.COUNT_ACCEPTED_PACKETS,
      fieldMaps: variables.FIELD_MAPS,
    },
    follow: variables.FOLLOW,
    tpotData: variables.TPOT_DATA,
    lookupIndexAddresses: variables.LOOKUP_INDEX_ADDRESSES,
    searchMemoryBytes: variables.SEARCH_MEMORY_MIB * MEBIBYTE,
    queryTimeoutSeconds: variables.QUERY_TIMEOUT_SECONDS,
    elasticsearchApiKey: variables.ELASTICSEARCH_API_KEY,
    query: { url: variables.QUERY_URL, key: variables.QUERY_KEY },
    intake: { url: variables.INTAKE_URL, key: variables.INTAKE_KEY },
    plans: variables.PLANS,
    plansUrl: variables.PLANS_URL,
    redisUrl: variables.REDIS_URL,
    backupS3: backupS3Settings(variables),
    kafka: kafkaSettings(variables),
    hpfeeds: hpfeedsSettings(variables),
    syslog: syslogSettings(variables),
    mail: mailSettings(variables),
    watchesFile: variables.WATCHES_FILE,
    watchDestinations: variables.WATCH_DESTINATIONS,
  };
}

function clickhouseSettings(variables: Variables) {
  const [url, ...otherUrls] = variables.CLICKHOUSE_URL;
  const server =
    url === undefined
      ? undefined
      : {
          url,
          ...(otherUrls.length > 0 && { otherUrls }),
          username: variables.CLICKHOUSE_USER,
          password: variables.CLICKHOUSE_PASSWORD,
          database: variables.CLICKHOUSE_DATABASE,
          cluster: variables.CLICKHOUSE_CLUSTER,
        };
  const { CLICKHOUSE_MEMORY_MIB: memoryMib, DATA_DIR: dataDir } = variables;
  return { server, dataDir, memoryBytes: memoryMib === undefined ? undefined : memoryMib * MEBIBYTE };
}

/** Undefined without keys: ClickHouse then uses its own credentials. */
function backupS3Settings({ BACKUP_S3_ACCESS_KEY: accessKey, BACKUP_S3_SECRET_KEY: secretKey }: Variables) {
  return accessKey === undefined || secretKey === undefined ? undefined : { accessKey, secretKey };
}

/** Undefined without a certificate: HTTPS is then disabled. */
function tlsSettings(variables: Variables) {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, HTTPS_PORT: port, INTAKE_PORT: intakePort } = variables;
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile, port, intakePort };
}

/** Undefined without a URL: no broker is subscribed to. */
function hpfeedsSettings({ HPFEEDS_URL: url, HPFEEDS_CHANNELS: channels }: Variables) {
  if (url === undefined) return undefined;
  const { protocol, hostname: host, port, username, password } = new URL(url);
  return {
    host,
    port: port === "" ? DEFAULT_HPFEEDS_PORT : Number(port),
    tls: protocol === "hpfeedss:",
    ident: decodeURIComponent(username),
    secret: decodeURIComponent(password),
    channels,
  };
}

/** The loopback and private networks. */
const LOCAL_NETWORKS =
  "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 ::1 fc00::/7 fe80::/10".split(" ");

/** Undefined without a port: nothing listens to syslog then. */
function syslogSettings({ SYSLOG_PORT: port, SYSLOG_SENDERS: senders }: Variables) {
  return port === undefined ? undefined : { port, senders: senders.length > 0 ? senders : LOCAL_NETWORKS };
}

/** Undefined without a server: no mail is sent. */
function mailSettings({ SMTP_URL: url, MAIL_FROM: from }: Variables) {
  return url === undefined || from === undefined ? undefined : { url, from };
}

/** Undefined without brokers: HTTP and files are then the only sources. */
function kafkaSettings(variables: Variables) {
  if (variables.KAFKA_BROKERS.length === 0) return undefined;
  const mechanism = variables.KAFKA_SASL_MECHANISM;
  return {
    connection: {
      brokers: variables.KAFKA_BROKERS,
      clientId: variables.KAFKA_CLIENT_ID,
      tls: variables.KAFKA_TLS,
      sasl:
        mechanism === undefined
          ? undefined
          : { mechanism, username: variables.KAFKA_SASL_USERNAME, password: variables.KAFKA_SASL_PASSWORD },
    },
    groupId: variables.KAFKA_GROUP_ID,
    instanceId: variables.KAFKA_INSTANCE_ID,
    sessionTimeoutMs: variables.KAFKA_SESSION_TIMEOUT_SECONDS * 1_000,
    topic: variables.KAFKA_TOPIC,
    rawTopics: variables.KAFKA_RAW_TOPICS.map((pair) => {
      const [topic = "", format = ""] = pair.split("=");
      return { topic, format };
    }),
    createTopics: variables.KAFKA_CREATE_TOPICS,
    partitions: variables.KAFKA_PARTITIONS,
  };
}
