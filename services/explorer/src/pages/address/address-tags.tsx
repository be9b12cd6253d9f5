import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import type { AddressTag, ContextTag } from "../../api/operations.ts";
import { tagsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { tagPath } from "../../routing/paths.ts";
import { Cves } from "../../search/cves.tsx";
import { Badge } from "../../shell/badge.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { Hostile, Prose } from "../../text/hostile.tsx";

type AddressTagsProps = { readonly ip: string; readonly tags: readonly ContextTag[] };

/** Why an address is classified as it is, the worst first; one lookup. */
export function AddressTags({ ip, tags }: AddressTagsProps) {
  const seen = useAnswer(tags.length === 0 ? undefined : tagsOf(ip));
  const seenWith = new Map(seen.data?.tags.map((tag) => [tag.id, tag]));
  const sorted = [...tags].sort(
    (one, other) =>
      WORST_FIRST.indexOf(one.intention) - WORST_FIRST.indexOf(other.intention) || one.name.localeCompare(other.name),
  );
  return (
    <section aria-labelledby="tags">
      <h2 id="tags">Why: its tags</h2>
      {sorted.length === 0 ? (
        <p class="empty">Nothing that it did has a tag.</p>
      ) : (
        <>
          <ul class="tags">
            {sorted.map((tag) => (
              <TagItem key={tag.id} tag={tag} seen={seenWith.get(tag.id)} />
            ))}
          </ul>
          <Loaded of={seen} what="when it was seen with each tag">
            {() => null}
          </Loaded>
        </>
      )}
    </section>
  );
}

type TagItemProps = { readonly tag: ContextTag; readonly seen: AddressTag | undefined };

function TagItem({ tag, seen }: TagItemProps) {
  const { slug, name, intention, category, description, cves, created_at: since } = tag;
  return (
    <li>
      <Badge verdict={intention} />{" "}
      <a href={tagPath(slug)}>
        <Hostile text={name} />
      </a>{" "}
      <span class="faint">
        <Hostile text={category} />
        {cves.length === 0 ? null : (
          <>
            , <Cves cves={cves} />
          </>
        )}
        , in the catalogue since {since}
      </span>
      {seen === undefined ? null : (
        <p data-seen>
          {plural(seen.observations, "observation")}
          {seen.first_seen === seen.last_seen
            ? ` at ${formatMinute(seen.last_seen)}`
            : `, the first at ${formatMinute(seen.first_seen)}, the last at ${formatMinute(seen.last_seen)}`}
        </p>
      )}
      {description === "" ? null : (
        <p class="faint">
          <Prose text={description} />
        </p>
      )}
    </li>
  );
}
