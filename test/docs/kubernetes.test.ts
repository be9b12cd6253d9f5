import { readdir } from "node:fs/promises";
import { createProgram } from "@noisefloor/cli/program/program.ts";
import { readSettings, settingsSchema } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { ROOT, readText } from "./documents.ts";

const FOLDER = "infra/cluster/kubernetes";
const PROBED = ["/healthz", "/readyz"];
const settings = new Set(Object.keys(settingsSchema.shape));
/** Read by Node. */
const FOREIGN = new Set(["NODE_OPTIONS"]);

async function commandNames(): Promise<string[]> {
  const program = await createProgram(
    () => Promise.reject(new Error("only its names are wanted")),
    () => false,
  );
  return program.commands.map((command) => command.name());
}

const labels = z.record(z.string(), z.string());
const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }).optional(),
  spec: z.looseObject({}).optional(),
});
const probe = z.object({ httpGet: z.object({ path: z.enum(PROBED), port: z.literal("http") }) });
const podsSchema = z.object({
  selector: z.object({ matchLabels: labels }).optional(),
  template: z.object({
    metadata: z.object({ labels }),
    spec: z.object({
      containers: z.tuple([
        z.looseObject({
          image: z.literal("noisefloor"),
          args: z.tuple([z.string()]),
          env: z.array(z.object({ name: z.string() })),
          startupProbe: probe.optional(),
          livenessProbe: probe.optional(),
          readinessProbe: probe.optional(),
          volumeMounts: z.array(z.object({ name: z.string() })),
        }),
      ]),
      volumes: z.array(z.object({ name: z.string() })),
    }),
  }),
});

async function readManifests() {
  const files = (await readdir(`${ROOT}${FOLDER}`)).filter((file) => file !== "kustomization.yaml");
  const objects = [];
  for (const file of files) {
    const documents = parseAllDocuments(await readText(`${FOLDER}/${file}`));
    if (!Array.isArray(documents)) throw new Error(`${file} is empty`);
    for (const document of documents) {
      expect(document.errors, file).toEqual([]);
      objects.push(objectSchema.parse(document.toJS()));
    }
  }
  const kustomization = z
    .object({
      resources: z.array(z.string()),
      configMapGenerator: z.tuple([z.object({ literals: z.array(z.string()) })]),
    })
    .parse(parse(await readText(`${FOLDER}/kustomization.yaml`)));
  return { files, objects, kustomization };
}

test("the manifests give our processes commands, settings and probes that they have", async () => {
  const { files, objects, kustomization } = await readManifests();
  expect(kustomization.resources.toSorted()).toEqual(files.toSorted());
  const literals = kustomization.configMapGenerator[0].literals.map((literal) => literal.split("=")[0] ?? "");
  expect(literals.filter((name) => !settings.has(name))).toEqual([]);
  const secret = z.object({ stringData: labels }).parse(objects.find(({ kind }) => kind === "Secret"));
  expect(
    Object.keys(secret.stringData).filter((name) => !/^CLICKHOUSE_READER_/.test(name) && !settings.has(name)),
  ).toEqual([]);
  const commands = await commandNames();
  const workloads = objects.filter(({ kind }) => kind === "Deployment" || kind === "Job");
  expect(workloads.map(({ metadata }) => metadata?.name).toSorted()).toEqual(["ingest", "migrate", "query"]);
  for (const { spec, metadata, kind } of workloads) {
    const pods = podsSchema.parse(spec);
    const [container] = pods.template.spec.containers;
    expect(commands).toContain(container.args[0]);
    expect(
      container.env.filter(({ name }) => !settings.has(name) && !FOREIGN.has(name)),
      metadata?.name,
    ).toEqual([]);
    expect(container.volumeMounts).toEqual(
      pods.template.spec.volumes.map(({ name }) => expect.objectContaining({ name })),
    );
    if (kind === "Job") continue;
    expect(container).toMatchObject({ startupProbe: {}, livenessProbe: {}, readinessProbe: {} });
    expect(pods.template.metadata.labels).toMatchObject(pods.selector?.matchLabels ?? { missing: "selector" });
  }
});

test("no process starts with a placeholder of an example", async () => {
  const { objects } = await readManifests();
  const { stringData } = z.object({ stringData: labels }).parse(objects.find(({ kind }) => kind === "Secret"));
  const shippers = await Promise.all(
    ["vector-http.yaml", "fluent-bit-http.yaml"].map((name) => readText(`infra/shippers/${name}`)),
  );
  const keys = shippers.map((text) => /_token: (\S+)/.exec(text)?.[1] ?? "");
  const broker = /#HPFEEDS_URL=(\S+)/.exec(await readText("infra/docker/env.example"))?.[1] ?? "";
  const placeholders = [
    ...Object.entries(stringData).map(([name, value]) => [name.replace("_READER_", "_"), value] as const),
    ...keys.map((key) => ["SENSOR_KEYS", `${"a".repeat(16)},${key}`] as const),
    ["HPFEEDS_URL", broker] as const,
  ];
  for (const [name, value] of placeholders) {
    const start = () => readSettings({ [name]: value, HPFEEDS_CHANNELS: name === "HPFEEDS_URL" ? "a" : undefined });
    expect(start, `${name}=${value}`).toThrow(`${name}: is still the placeholder of an example`);
  }
});

test("services, budgets and autoscalers are those of a deployment", async () => {
  const { objects } = await readManifests();
  const deployments = objects.filter(({ kind }) => kind === "Deployment");
  const podsOf = (wanted: Readonly<Record<string, string>>) =>
    deployments.filter(({ spec }) => {
      const { labels: found } = podsSchema.parse(spec).template.metadata;
      return Object.entries(wanted).every(([name, value]) => found[name] === value);
    });
  const selector = z.union([z.object({ matchLabels: labels }).transform((one) => one.matchLabels), labels]);
  for (const { kind, spec } of objects.filter((one) => ["Service", "PodDisruptionBudget"].includes(one.kind))) {
    expect(podsOf(selector.parse(spec?.selector)), kind).toHaveLength(1);
  }
  const scaled = objects.filter(({ spec }) => spec?.scaleTargetRef !== undefined);
  const targets = scaled.map(({ spec }) => z.object({ name: z.string() }).parse(spec?.scaleTargetRef).name);
  expect(targets.toSorted()).toEqual(deployments.map(({ metadata }) => metadata?.name).toSorted());
});
