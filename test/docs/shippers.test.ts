import { readdir } from "node:fs/promises";
import { isRawTopic } from "@noisefloor/config/formats.ts";
import { findFormats } from "@noisefloor/ingest/formats/all.ts";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readText } from "./documents.ts";

const FOLDER = "infra/shippers";
const LOG = "/home/cowrie/cowrie/var/log/cowrie/cowrie.json";
const BROKERS = "kafka-1.example.org:9092,kafka-2.example.org:9092";
const SENSOR = "honeypot-1";
const MEBIBYTE = 1024 * 1024;

const readYaml = async <S extends z.ZodType>(file: string, schema: S) =>
  schema.parse(parse(await readText(`${FOLDER}/${file}`)));

/** What every configuration that sends to Kafka says, whatever its shipper calls it. */
type ToKafka = { paths: string[]; brokers: string; topic: string; key: string; acks: string };
const EXPECTED: ToKafka = { paths: [LOG], brokers: BROKERS, topic: "cowrie", key: SENSOR, acks: "all" };

const filebeat = z.looseObject({
  "filebeat.inputs": z.tuple([
    z.looseObject({ type: z.literal("filestream"), id: z.string(), paths: z.array(z.string()) }),
  ]),
  "queue.disk": z.object({ max_size: z.string() }),
  "output.kafka": z.looseObject({
    hosts: z.array(z.string()),
    topic: z.string(),
    key: z.string(),
    required_acks: z.literal(-1),
    "codec.format": z.object({ string: z.literal("%{[message]}") }),
  }),
});

const fluentBit = <O extends z.ZodType>(output: O) =>
  z.object({
    service: z.looseObject({
      "storage.path": z.string(),
      "storage.sync": z.literal("full"),
      "scheduler.cap": z.int().max(60),
    }),
    pipeline: z.object({
      inputs: z.tuple([
        z.looseObject({
          name: z.literal("tail"),
          path: z.string(),
          db: z.string(),
          "storage.type": z.literal("filesystem"),
          read_from_head: z.literal(true),
          rotate_wait: z.int().min(10),
          refresh_interval: z.int().max(10),
          buffer_max_size: z.literal("1M"),
        }),
      ]),
      outputs: z.tuple([output]),
    }),
  });
const keepsTrying = { retry_limit: z.literal("no_limits"), "storage.total_limit_size": z.string() };

const vector = <S extends z.ZodRawShape>(sink: S) =>
  z.looseObject({
    data_dir: z.string(),
    sources: z.object({
      cowrie: z.looseObject({
        type: z.literal("file"),
        include: z.array(z.string()),
        max_line_bytes: z.literal(MEBIBYTE),
      }),
    }),
    transforms: z.object({ sensor: z.looseObject({ source: z.string() }) }).optional(),
    sinks: z.object({
      noisefloor: z.looseObject({
        ...sink,
        encoding: z.object({ codec: z.literal("text") }),
        acknowledgements: z.looseObject({ enabled: z.literal(true) }),
        buffer: z.object({
          type: z.literal("disk"),
          max_size: z.int().min(268_435_488),
          when_full: z.literal("block"),
        }),
      }),
    }),
  });

/** The parameters of one object of an rsyslog configuration, comments left out. */
function rsyslogParameters(text: string, object: string): Record<string, string> {
  const code = text.replace(/^\s*#.*$/gm, "");
  const [, inside = ""] = new RegExp(`${object}\\(([^)]*)\\)`).exec(code) ?? [];
  return Object.fromEntries(
    [...inside.matchAll(/([\w.]+)=("[^"]*"|\[[^\]]*\])/g)].map(([, name = "", value = ""]) => [
      name,
      value.startsWith("[") ? [...value.matchAll(/"([^"]*)"/g)].map(([, item]) => item).join(",") : value.slice(1, -1),
    ]),
  );
}

const TO_KAFKA: Record<string, () => Promise<ToKafka>> = {
  "filebeat.yml": async () => {
    const {
      "filebeat.inputs": [input],
      "output.kafka": output,
    } = await readYaml("filebeat.yml", filebeat);
    const { hosts, topic, key } = output;
    return { paths: input.paths, brokers: hosts.join(), topic, key, acks: "all" };
  },
  "fluent-bit-kafka.yaml": async () => {
    const output = z.looseObject({
      name: z.literal("kafka"),
      brokers: z.string(),
      topics: z.string(),
      message_key: z.string(),
      format: z.literal("raw"),
      raw_log_key: z.literal("log"),
      "rdkafka.acks": z.string(),
      queue_full_retries: z.literal(0),
      ...keepsTrying,
    });
    const { pipeline } = await readYaml("fluent-bit-kafka.yaml", fluentBit(output));
    const [[input], [kafka]] = [pipeline.inputs, pipeline.outputs];
    return {
      paths: input.path.split(","),
      brokers: kafka.brokers,
      topic: kafka.topics,
      key: kafka.message_key,
      acks: kafka["rdkafka.acks"],
    };
  },
  "rsyslog.conf": async () => {
    const text = await readText(`${FOLDER}/rsyslog.conf`);
    const [input, action] = [rsyslogParameters(text, "input"), rsyslogParameters(text, "action")];
    expect(rsyslogParameters(text, "global")).toEqual({ maxMessageSize: "1m" });
    expect(text.indexOf("global(")).toBeLessThan(text.indexOf("module("));
    expect(input).toMatchObject({ type: "imfile", Ruleset: "noisefloor", persistStateAfterSubmission: "on" });
    expect(action).toMatchObject({
      type: "omkafka",
      "queue.filename": "noisefloor",
      "queue.saveOnShutdown": "on",
      "action.resumeRetryCount": "-1",
      resubmitOnFailure: "on",
      keepFailedMessages: "on",
    });
    const { broker = "", topic = "", key = "", confParam = "" } = action;
    const [, acks = ""] = /\backs=(\w+)/.exec(confParam) ?? [];
    return { paths: [input.File ?? ""], brokers: broker, topic, key, acks };
  },
  "vector-kafka.yaml": async () => {
    const sink = {
      type: z.literal("kafka"),
      bootstrap_servers: z.string(),
      topic: z.string(),
      key_field: z.literal("sensor"),
      message_timeout_ms: z.literal(0),
      librdkafka_options: z.record(z.string(), z.string()),
    };
    const { sources, transforms, sinks } = await readYaml("vector-kafka.yaml", vector(sink));
    const { bootstrap_servers: brokers, topic, librdkafka_options: options } = sinks.noisefloor;
    const [, key = ""] = /^\.sensor = "(.*)"$/.exec(transforms?.sensor.source ?? "") ?? [];
    return { paths: sources.cowrie.include, brokers, topic, key, acks: options.acks ?? "" };
  },
};

/** The paths of the configurations that send by HTTP; a token that is to be changed, and the format. */
const TO_HTTP: Record<string, () => Promise<{ paths: string[]; token: string; sourcetype: string }>> = {
  "fluent-bit-http.yaml": async () => {
    const output = z.looseObject({
      name: z.literal("splunk"),
      splunk_token: z.string(),
      event_key: z.literal("$log"),
      event_sourcetype: z.string(),
      tls: z.literal("on").or(z.literal(true)),
      ...keepsTrying,
    });
    const { pipeline } = await readYaml("fluent-bit-http.yaml", fluentBit(output));
    const [[input], [splunk]] = [pipeline.inputs, pipeline.outputs];
    return { paths: [input.path], token: splunk.splunk_token, sourcetype: splunk.event_sourcetype };
  },
  "vector-http.yaml": async () => {
    const sink = {
      type: z.literal("splunk_hec_logs"),
      endpoint: z.url({ protocol: /^https$/ }),
      default_token: z.string(),
      sourcetype: z.string(),
    };
    const { sources, sinks } = await readYaml("vector-http.yaml", vector(sink));
    const { default_token: token, sourcetype, acknowledgements } = sinks.noisefloor;
    expect(acknowledgements).toMatchObject({ indexer_acknowledgements_enabled: false });
    return { paths: sources.cowrie.include, token, sourcetype };
  },
};

describe("the configurations of shippers", () => {
  test("are those that are checked here, and the README names each", async () => {
    const files = (await readdir(FOLDER)).filter((name) => name !== "README.md").toSorted();
    expect(files).toEqual([...Object.keys(TO_KAFKA), ...Object.keys(TO_HTTP)].toSorted());
    const readme = await readText(`${FOLDER}/README.md`);
    for (const file of files) expect(readme).toContain(`[${file}](${file})`);
  });

  test.each(Object.entries(TO_KAFKA))(
    "%s: one key, all replicas confirm, buffers on disk, lines as they are",
    async (file, read) => {
      expect(await read()).toEqual(EXPECTED);
      const [, setting = ""] = /KAFKA_RAW_TOPICS=(\S+)/.exec(await readText(`${FOLDER}/${file}`)) ?? [];
      expect(isRawTopic(setting)).toBe(true);
      const [topic, format = ""] = setting.split("=");
      expect(topic).toBe(EXPECTED.topic);
      expect(findFormats(format)).toHaveLength(1);
    },
  );

  test.each(Object.entries(TO_HTTP))("%s: a format, buffers on disk, lines as they are", async (_file, read) => {
    const { paths, token, sourcetype } = await read();
    expect({ paths, token }).toEqual({ paths: [LOG], token: "change-me-sensor-key" });
    expect(findFormats(sourcetype)).toHaveLength(1);
  });

  test("no path matches a file that was renamed", async () => {
    for (const read of [...Object.values(TO_KAFKA), ...Object.values(TO_HTTP)]) {
      for (const path of (await read()).paths) expect(path).not.toMatch(/[*?[{]|\.\d|\.gz$/);
    }
  });
});
