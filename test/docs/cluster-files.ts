import { parse } from "yaml";
import { z } from "zod";
import { readText } from "./documents.ts";

export const CLUSTER = "infra/cluster";

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string().optional(),
      command: z.array(z.string()).default([]),
      environment: z.record(z.string(), z.coerce.string()).default({}),
      depends_on: z.record(z.string(), z.unknown()).default({}),
      volumes: z.array(z.string()).default([]),
      ports: z.array(z.string()).default([]),
    }),
  ),
});

export const readCompose = async () =>
  composeSchema.parse(parse(await readText(`${CLUSTER}/docker-compose.yml`), { merge: true }));
