import type { Parameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";
import { contextTagSchema, metadataSchema, rawDataSchema, scannerSchema } from "../../address/schema.ts";

/** The names of an object's members, each with its parents' names before it; a list is named as its items are. */
export function memberNames(schema: z.core.$ZodType, prefix = ""): string[] {
  if (schema instanceof z.ZodArray) return memberNames(schema.element, prefix);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => memberNames(option, prefix));
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => [
    prefix + name,
    ...memberNames(member, `${prefix}${name}.`),
  ]);
}

/** The members of a row's scanner part that a caller can leave out, by their names and by the last parts of these. */
const MEMBERS = new Map<string, string>();
for (const name of memberNames(scannerSchema).toSorted((one, other) => depthOf(one) - depthOf(other))) {
  for (const part of [name, name.slice(name.lastIndexOf(".") + 1)]) if (!MEMBERS.has(part)) MEMBERS.set(part, name);
}

function depthOf(name: string): number {
  return name.split(".").length;
}

/** The members of a tag that `tags.details` stands for. */
const TAG_DETAILS = ["description", "references", "cves", "recommend_block", "created", "created_at", "updated_at"];
/** Names for several members. */
const GROUPS: ReadonlyMap<string, readonly string[]> = new Map([
  ["tags.details", TAG_DETAILS.map((name) => `tags.${name}`)],
]);

/**
 * Members to leave out, each with its parents' names before it: `tags`, `metadata.organization`, `raw_data.http.path`.
 */
export const EXCLUDE: Parameter<ReadonlySet<string>> = {
  name: "exclude",
  description:
    "Members of `internet_scanner_intelligence` that rows are to leave out, separated by commas; names that no row has are ignored. `tags.details` is all of a tag but id, slug, name, category and intention.",
  takes: "members of a row such as tags, tags.details, metadata.organization or raw_data.ja3, separated by commas",
  schema: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((part) => part.trim() || []))
    .transform((names) => new Set(names.flatMap((name) => GROUPS.get(name) ?? MEMBERS.get(name) ?? []))),
  describedBy: "input",
  example: "tags.details,raw_data.ja3",
};

const { scan, ja3, hassh, http, source, tls, ssh } = rawDataSchema.shape;
const partialRawData = rawDataSchema
  .extend({
    scan: z.array(scan.element.partial()),
    ja3: z.array(ja3.element.partial()),
    hassh: z.array(hassh.element.partial()),
    http: http.partial(),
    source: source.partial(),
    tls: tls.partial(),
    ssh: ssh.partial(),
  })
  .partial();

/** A row's scanner part, of which any member may be left out. */
export const partialScannerSchema = scannerSchema
  .extend({
    metadata: metadataSchema.partial(),
    raw_data: partialRawData,
    tags: z.array(contextTagSchema.partial().meta({ id: "PartialContextTag" })),
  })
  .partial()
  .meta({ id: "PartialScanner", description: "The members that were not excluded." });

type Scanner = z.input<typeof scannerSchema>;

/** The scanner part without some members. */
export function withoutMembers(scanner: Scanner, names: ReadonlySet<string>): z.input<typeof partialScannerSchema> {
  if (names.size === 0) return scanner;
  const parents = new Set([...names].flatMap((name) => parentsOf(name)));
  const prune = (value: object, prefix: string) =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, member]) => {
        const path = prefix + name;
        if (names.has(path)) return [];
        return [[name, parents.has(path) ? pruneMember(member, `${path}.`) : member]];
      }),
    );
  const pruneMember = (member: unknown, prefix: string): unknown => {
    if (Array.isArray(member)) return member.map((item) => pruneMember(item, prefix));
    return typeof member === "object" && member !== null ? prune(member, prefix) : member;
  };
  return prune(scanner, "");
}

/** The parents of `raw_data.http.path` are `raw_data` and `raw_data.http`. */
function parentsOf(name: string): string[] {
  const end = name.lastIndexOf(".");
  if (end === -1) return [];
  const parent = name.slice(0, end);
  return [...parentsOf(parent), parent];
}
