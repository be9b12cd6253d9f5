import { writeFile } from "node:fs/promises";
import type { Member } from "@noisefloor/domain/observation/member.ts";
import { TABLES } from "@noisefloor/domain/observation/members.ts";
import { LISTED_FIELDS } from "@noisefloor/domain/query-language/fields.ts";
import { expect, test } from "vitest";
import { ROOT, readText } from "./documents.ts";

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

/** The shortest name of each field of the search that a member has, and how it compares. */
function searchOf({ search = [] }: Member): string {
  return search
    .map(({ field, kind }) => {
      const searched = LISTED_FIELDS.find(({ kind: listed }) => "field" in listed && listed.field === field);
      return `\`${searched?.name}\` (${kind})`;
    })
    .join(", ");
}

const rows = TABLES.flatMap(([prefix, table]) =>
  Object.entries<Member>(table).map(([name, member]) =>
    [
      "",
      `\`${prefix.replace("_", ".")}${name}\``,
      code(member.rules ?? []),
      code(member.maps ?? member.rules ?? []),
      searchOf(member),
      member.doc ?? "",
      "",
    ]
      .join(" | ")
      .trim(),
  ),
);

test("docs/members.md has every member of an observation; UPDATE_DOCS=1 writes its table", async () => {
  const document = await readText("docs/members.md");
  const head = document.slice(0, document.indexOf("|---|"));
  const expected = `${head}|---|---|---|---|---|\n${rows.join("\n")}\n`;
  if (process.env.UPDATE_DOCS === "1") await writeFile(`${ROOT}docs/members.md`, expected);
  else expect(document).toBe(expected);
});
