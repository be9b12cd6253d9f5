import { WORST_FIRST } from "@noisefloor/domain/tags/classification.ts";
import { useMemo, useState } from "preact/hooks";
import type { Tag } from "../../api/operations.ts";
import { allTags, tagSummary } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { useParameters } from "../../routing/use-parameters.ts";
import { Choice } from "../../shell/controls/choice.tsx";
import { useSorted } from "../../table/use-sorted.tsx";
import { formatCount } from "../../text/format.ts";
import { visible } from "../../text/hostile.tsx";
import { filterTags } from "./filter-tags.ts";
import { useOpenOnlyTag } from "./only-tag.ts";
import { type Counts, columnsOf, TagTable } from "./tag-table.tsx";

const NO_FILTER = { name: "", category: "", intention: "", cve: "" };
/** The most that the summary lists. */
const ALL_TAGS = 1_000;
const FIRST_TAGS = 50;

/** `/tags`: the catalogue, with filters. */
export function TagsPage() {
  usePageTitle("Tags");
  const tags = useAnswer(allTags());
  const summary = useAnswer(tagSummary(1, ALL_TAGS, "active"));
  const counts = useMemo(
    (): Counts | undefined =>
      summary.data &&
      new Map(summary.data.tags.map(({ id, total_ips: now, previous_ips: before }) => [id, { now, before }])),
    [summary.data],
  );
  return (
    <>
      <h1>Tags</h1>
      <p class="lead">What scanners do. Addresses are those of the last day, and the change against the day before.</p>
      {summary.failure === undefined ? null : (
        <Loaded of={summary} what="the addresses of each tag">
          {() => null}
        </Loaded>
      )}
      <Loaded of={tags} what="the tags">
        {(data) => <Catalogue tags={data.tags} counts={counts} />}
      </Loaded>
    </>
  );
}

function Catalogue({ tags, counts }: { readonly tags: readonly Tag[]; readonly counts: Counts | undefined }) {
  const { values, set } = useParameters(NO_FILTER);
  const categories = useMemo(() => [...new Set(tags.map(({ category }) => category))].sort(), [tags]);
  const { name, category, intention, cve } = values;
  const typed = useOpenOnlyTag(tags, values);
  const shown = useMemo(() => {
    const active = ({ id }: Tag) => counts?.get(id)?.now ?? 0;
    return filterTags(tags, { name, category, intention, cve }).sort((one, other) => active(other) - active(one));
  }, [tags, counts, name, category, intention, cve]);
  const type = (field: "name" | "cve") => (event: Event) => {
    // What is typed replaces the entry in the history: one step back leaves the page.
    if (!(event.currentTarget instanceof HTMLInputElement)) return;
    typed.current = event.currentTarget.value;
    set({ [field]: event.currentTarget.value }, true);
  };
  return (
    <>
      <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
        <label class="choice">
          Name
          <input name="name" value={values.name} onInput={type("name")} autocomplete="off" spellcheck={false} />
        </label>
        <Choice
          label="Category"
          name="category"
          options={[["", "all"], ...categories.map((one) => [one, visible(one)] as const)]}
          value={values.category}
          onChoose={(chosen) => set({ category: chosen })}
        />
        <Choice
          label="Intention"
          name="intention"
          options={[["", "all"], ...WORST_FIRST.map((one) => [one, one] as const)]}
          value={values.intention}
          onChoose={(chosen) => set({ intention: chosen })}
        />
        <label class="choice">
          CVE
          <input name="cve" value={values.cve} onInput={type("cve")} autocomplete="off" spellcheck={false} />
        </label>
        <button type="button" class="quiet" onClick={() => set(NO_FILTER)}>
          Clear
        </button>
      </form>
      <p role="status" class="faint">
        {formatCount(shown.length)} of {formatCount(tags.length)} tags
      </p>
      {shown.length === 0 ? (
        <p class="empty">{tags.length === 0 ? "The catalogue is empty." : "No tag fits these filters."}</p>
      ) : (
        <FirstTags tags={shown} counts={counts} />
      )}
    </>
  );
}

type TagTableProps = { readonly tags: readonly Tag[]; readonly counts: Counts | undefined };

/** The table of the first tags, and of all others when they are wanted. */
function FirstTags({ tags, counts }: TagTableProps) {
  const [showsAll, setShowsAll] = useState(false);
  const countOf = (id: string) => counts && (counts.get(id) ?? { now: 0, before: undefined });
  const { sorted, head } = useSorted(tags, columnsOf(countOf));
  const shown = showsAll ? sorted : sorted.slice(0, FIRST_TAGS);
  return (
    <>
      <TagTable tags={shown} countOf={countOf} head={head} />
      {shown.length === tags.length ? null : (
        <button type="button" class="quiet" onClick={() => setShowsAll(true)}>
          Show all {formatCount(tags.length)} tags
        </button>
      )}
    </>
  );
}
