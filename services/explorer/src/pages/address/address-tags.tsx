import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import type { ContextTag } from "../../api/operations.ts";
import { tagPath } from "../../routing/paths.ts";
import { Badge } from "../../shell/badge.tsx";
import { Hostile, Prose } from "../../text/hostile.tsx";

/** Why an address is classified as it is, the worst first. */
export function AddressTags({ tags }: { readonly tags: readonly ContextTag[] }) {
  const sorted = [...tags].sort(
    (one, other) =>
      WORST_FIRST.indexOf(one.intention) - WORST_FIRST.indexOf(other.intention) || one.name.localeCompare(other.name),
  );
  return (
    <section aria-labelledby="tags">
      <h2 id="tags">Why: its tags</h2>
      {sorted.length === 0 ? <p class="empty">Nothing that it did has a tag.</p> : null}
      <ul class="tags">
        {sorted.map(({ id, slug, name, intention, category, description, cves, updated_at: updated }) => (
          <li key={id}>
            <Badge verdict={intention} />{" "}
            <a href={tagPath(slug)}>
              <Hostile text={name} />
            </a>{" "}
            <span class="faint">
              <Hostile text={category} />
              {cves.length === 0 ? "" : `, ${cves.join(", ")}`}, rule of {updated.slice(0, 10)}
            </span>
            {description === "" ? null : (
              <p>
                <Prose text={description} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
