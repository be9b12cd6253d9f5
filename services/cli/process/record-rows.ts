import { setImmediate as nextTurn } from "node:timers/promises";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { ATTACK, type Interaction, isAttack } from "@noisefloor/domain/tags/attack.ts";
import { CONTACT } from "@noisefloor/domain/tags/contact.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { ObservationRow } from "@noisefloor/ingest/rows/observation-row.ts";
import type { SightingsCache } from "@noisefloor/query/address-index/sightings-cache.ts";

/** An insert has up to some hundred thousand rows, which take a tenth of a second and more. */
const ROWS_PER_SLICE = 1_000;

type Catalogue = { byId(id: string): Pick<Tag, "intention"> | undefined };

/** Records the rows of the global dataset as sightings. Yields to other requests after every thousand rows. */
export async function recordRows(
  rows: readonly (Pick<ObservationRow, "dataset" | "source_ip" | "observed_at" | "tags"> & Interaction)[],
  sightings: Pick<SightingsCache, "record">,
  catalogue: Catalogue,
): Promise<void> {
  for (const [index, row] of rows.entries()) {
    const { dataset, source_ip, observed_at, tags } = row;
    if (index > 0 && index % ROWS_PER_SLICE === 0) await nextTurn();
    if (dataset !== "global") continue;
    const address = ipv4ToNumber(source_ip);
    if (isAttack(row)) sightings.record(address, ATTACK, observed_at);
    else if (row.established) sightings.record(address, CONTACT, observed_at);
    sightings.record(address, severityOf(tags, catalogue), observed_at);
  }
}

/** The worst intention of some tags, from 1; 0 when none of them is in the catalogue. */
function severityOf(tagIds: readonly string[], catalogue: Catalogue): number {
  let severity = 0;
  for (const id of tagIds) {
    const tag = catalogue.byId(id);
    if (tag !== undefined) severity = Math.max(severity, INTENTIONS.indexOf(tag.intention) + 1);
  }
  return severity;
}
