import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { MIGRATIONS } from "./databases.ts";

/**
 * A folder with our migrations, for one test, and another that changes the view of `address_facets`: its rows have
 * nothing in common with those of before.
 */
export async function withLaterMigration(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-migrations-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  await writeFile(
    join(folder, "9000_later.sql"),
    `-- Fill address_facets.
ALTER TABLE address_facets_mv MODIFY QUERY
SELECT dataset, workspace_id, 'later' AS field, concat(observation_id, toString(observed_at)) AS value, source_ip, observed_at AS last_seen
FROM observations;
`,
  );
  return folder;
}
