import { readdir } from "node:fs/promises";
import { createProgram } from "@noisefloor/cli/program.ts";
import { settingsSchema } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { readText } from "./documents.ts";

const FOLDER = "infra/cluster";
const PROBED = ["/healthz", "/readyz"];
const settings = new Set(Object.keys(settingsSchema.shape));
/** Of Node and of the image of ClickHouse. */
const FOREIGN = new Set(["NODE_OPTIONS"]);

async function commandNames(): Promise<string[]> {
  const program = await createProgram(
    () => Promise.reject(new Error("only its names are wanted")),
    () => false,
  );
  return program.commands.map((command) => command.name());
}

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string().optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.unknown()).optional(),
      volumes: z.array(z.string()).optional(),
      depends_on: z.union([z.array(z.string()), z.record(z.string(), z.unknown())]).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
});
const readCompose = async () =>
  composeSchema.parse(parse(await readText(`${FOLDER}/docker-compose.yml`), { merge: true }));

test("the cluster's compose file gives our processes commands and settings that they have", async () => {
  const { services } = await readCompose();
  const ours = Object.entries(services).filter(([, { image }]) => image === "noisefloor:latest");
  expect(ours.map(([name]) => name)).toEqual(["migrate", "ingest-1", "ingest-2", "query-1", "query-2"]);
  const commands = await commandNames();
  for (const [name, { command = [], environment = {} }] of ours) {
    expect(commands, name).toContain(command[0]);
    expect(
      Object.keys(environment).filter((key) => !settings.has(key) && !FOREIGN.has(key)),
      name,
    ).toEqual([]);
  }
  const instances = ours.flatMap(([, { environment }]) => environment?.KAFKA_INSTANCE_ID ?? []);
  expect(new Set(instances).size).toBe(2);
});

test("its services, volumes and files exist, and the shards are its servers, in the same order everywhere", async () => {
  const { services, volumes } = await readCompose();
  for (const [name, { volumes: mounted = [], depends_on: needed = {} }] of Object.entries(services)) {
    for (const source of mounted.map((mount) => mount.split(":")[0] ?? "")) {
      if (source.startsWith(".")) await readText(`${FOLDER}/${source}`);
      else expect(Object.keys(volumes), name).toContain(source);
    }
    for (const other of Array.isArray(needed) ? needed : Object.keys(needed)) expect(services).toHaveProperty(other);
  }
  const servers = Object.keys(services).filter((name) => name.startsWith("clickhouse-"));
  const hosts = [...(await readText(`${FOLDER}/remote-servers.xml`)).matchAll(/<host>(.*?)<\/host>/g)];
  expect(hosts.map(([, host]) => host)).toEqual(servers);
  expect(services["query-1"]?.environment).toMatchObject({ CLICKHOUSE_CLUSTER: "noise" });
  expect(await readText(`${FOLDER}/remote-servers.xml`)).toContain("<noise>");
  const proxied = [...(await readText(`${FOLDER}/haproxy.cfg`)).matchAll(/^ {4}server (\S+) \1:8080$/gm)];
  expect(proxied.map(([, name]) => name)).toEqual(["query-1", "query-2", "ingest-1", "ingest-2"]);
});

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
  const folder = `${FOLDER}/kubernetes`;
  const files = (await readdir(folder)).filter((file) => file !== "kustomization.yaml");
  const objects = [];
  for (const file of files) {
    const documents = parseAllDocuments(await readText(`${folder}/${file}`));
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
    .parse(parse(await readText(`${folder}/kustomization.yaml`)));
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
