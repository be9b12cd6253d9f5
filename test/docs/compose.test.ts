import { existsSync } from "node:fs";
import { settingsSchema } from "@noisefloor/config/settings.ts";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { ROOT, readText } from "./documents.ts";

/** Settings that `.env` cannot change in any of the compose files, and why. */
const FIXED: Readonly<Record<string, string>> = {
  CLICKHOUSE_URL: "the services clickhouse of the file",
  CLICKHOUSE_USER: "a user of infra/clickhouse/config/users.xml",
  CLICKHOUSE_DATABASE: "the one on which users.xml grants rights",
  CLICKHOUSE_CLUSTER: "what remote_servers of the file's servers calls it",
  CLICKHOUSE_MEMORY_MIB: "of the embedded ClickHouse, which the image does not have",
  DATA_DIR: "a volume, or nothing that is kept",
  HTTP_HOST: "the image listens on all of the container's addresses",
  HTTP_PORT: "inside the container; `ports` says which one is open",
  HTTPS_PORT: "inside the container; `ports` says which one is open",
  QUERY_URL: "for commands alone, which take --url",
  QUERY_KEY: "for commands alone, which take --key",
  ELASTICSEARCH_API_KEY: "for replay alone, which docker compose run gives it by -e",
  INTAKE_URL: "for commands alone, which take --to",
  INTAKE_KEY: "for commands alone, which take --key",
};

/** Those of one file alone. */
const FIXED_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "docker-compose.yml": FIXED,
  "infra/cluster/docker-compose.yml": {
    ...FIXED,
    KAFKA_INSTANCE_ID: "each intake has its own",
    REDIS_URL: "the file's own Redis counts lookups of both query processes",
    TRUSTED_PROXIES: "the file's own proxy",
    MAX_CONNECTIONS_PER_CLIENT: "all connections come from the file's own proxy",
    TLS_CERT_FILE: "HTTPS ends at the proxy",
    TLS_KEY_FILE: "HTTPS ends at the proxy",
    INTAKE_PORT: "the proxy has a port of its own for the intake",
  },
};

const service = z.object({
  image: z.string().optional(),
  environment: z.record(z.string(), z.coerce.string()).default({}),
  volumes: z.array(z.string()).default([]),
});
const composeSchema = z.object({ services: z.record(z.string(), service) });

const readServices = async (path: string) =>
  Object.entries(composeSchema.parse(parse(await readText(path), { merge: true })).services);
const isOurs = ([, { image }]: Awaited<ReturnType<typeof readServices>>[number]) => image === "noisefloor:latest";

test.each(Object.entries(FIXED_IN))(
  "every setting reaches the services of %s from .env, or has a reason",
  async (path, fixed) => {
    const services = await readServices(path);
    const fromEnv = (environment: Readonly<Record<string, string>>) =>
      Object.entries(environment).flatMap(([name, value]) => (value.startsWith(`\${${name}`) ? [name] : []));
    const reached = services.filter(isOurs).flatMap(([, { environment }]) => fromEnv(environment));
    const all = [...reached, ...Object.keys(fixed)];
    expect([...new Set(all)].toSorted()).toEqual(Object.keys(settingsSchema.shape).toSorted());
    expect(reached.filter((name) => name in fixed)).toEqual([]);
  },
);

test.each(Object.keys(FIXED_IN))(
  "each service of %s that reads files named by settings has the folder for them",
  async (path) => {
    const folder = path.replace(/[^/]*$/, "");
    for (const [name, { volumes }] of (await readServices(path)).filter(isOurs)) {
      const mounted = volumes.flatMap((volume) => /^(.+):\/files:ro$/.exec(volume)?.[1] ?? []);
      expect(mounted, name).toHaveLength(1);
      expect(existsSync(`${ROOT}${folder}${mounted[0]}`), name).toBe(true);
    }
  },
);

test("a cluster runs the ClickHouse that one machine runs", async () => {
  const paths = Object.keys(FIXED_IN);
  const services = (await Promise.all(paths.map(readServices))).flat();
  const images = services.flatMap(([, { image = "" }]) => (image.includes("clickhouse-server") ? [image] : []));
  expect(images.length).toBeGreaterThan(paths.length);
  expect(new Set(images).size).toBe(1);
});

test("queries get no secret with which anything could be written", async () => {
  for (const path of Object.keys(FIXED_IN)) {
    const queries = (await readServices(path)).filter(([name]) => name.startsWith("query"));
    expect(queries.length).toBeGreaterThan(0);
    for (const [name, { environment }] of queries) {
      expect(environment.CLICKHOUSE_USER).toBe("noisefloor_reader");
      const secrets = Object.keys(environment).filter((key) => /^(?:SENSOR_KEYS|BACKUP_|KAFKA_|HPFEEDS_)/.test(key));
      expect(secrets, `${path}: ${name}`).toEqual([]);
    }
  }
});

test("beside a T-Pot, the container reads T-Pot's folder as its group, and can change nothing in it", async () => {
  const file = z
    .object({
      name: z.string(),
      services: z.object({ noisefloor: service.extend({ group_add: z.array(z.string()) }) }),
    })
    .parse(parse(await readText("infra/docker/tpot.yml")));
  // A name of its own: T-Pot's unit takes down the project that its own file names.
  expect(file.name).not.toBe("tpotce");
  const { image, environment, volumes, group_add } = file.services.noisefloor;
  expect(image).toBe("noisefloor:small");
  expect(volumes).toContain(`\${TPOT_DATA_PATH:-./data}:${environment.TPOT_DATA}:ro`);
  expect(group_add).toEqual(["2000"]);
  expect(Object.keys(settingsSchema.shape)).toEqual(expect.arrayContaining(Object.keys(environment)));
});
