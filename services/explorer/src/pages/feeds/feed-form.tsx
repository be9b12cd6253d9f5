import { useLocation } from "preact-iso";
import { type FeedDefinition, putFeed } from "../../api/feeds.ts";
import type { Feed } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { feedPath } from "../../routing/paths.ts";
import { QueryInput } from "../../search/completion/query-input.tsx";
import { ActionFault } from "../../shell/action-fault.tsx";

type FeedFormProps = {
  /** What the fields have at first; without a name it is a new feed. */
  readonly feed: FeedDefinition & Pick<Feed, "name">;
  /** Called when an existing feed was replaced. */
  readonly onSaved?: () => void;
};

/** Makes a feed of a search, or replaces its definition. */
export function FeedForm({ feed, onSaved }: FeedFormProps) {
  const { route } = useLocation();
  const action = useAction();
  const isNew = feed.name === "";
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const { name, definition } = readForm(new FormData(event.currentTarget));
    const saved = await action.run(putFeed(isNew ? name : feed.name, definition));
    if (saved === undefined) return;
    if (isNew) route(feedPath(saved.name));
    else onSaved?.();
  };
  return (
    <form class="fields" onSubmit={save}>
      {isNew ? (
        <label>
          Name
          <input
            name="name"
            required
            pattern="[a-z0-9][a-z0-9\-]{0,62}"
            title="1 to 63 lower-case letters, digits and hyphens"
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      ) : null}
      <div class="field">
        <span aria-hidden="true">Search</span>
        <QueryInput name="query" query={feed.query} label="Search" errorId="feed-fault" />
      </div>
      <label>
        Lists
        <select name="of" defaultValue={feed.of}>
          <option value="visitors" selected={feed.of === "visitors"}>
            their addresses
          </option>
          <option value="callbacks" selected={feed.of === "callbacks"}>
            the hosts that they told a sensor to call
          </option>
        </select>
      </label>
      <label>
        Observations of the last
        <input name="days" type="number" min={0} max={90} defaultValue={feed.days} required />
        <span class="faint">days; 0 stands for all that is stored</span>
      </label>
      <label>
        At most
        <input name="limit" type="number" min={1} max={1_000_000} defaultValue={feed.limit} required />
        <span class="faint">hosts, those seen or named last</span>
      </label>
      <label>
        Kept for
        <input name="ttl_hours" type="number" min={1} defaultValue={feed.ttl_hours ?? ""} required={!isNew} />
        <span class="faint">
          hours, by consumers that let entries expire{isNew ? ": 24, or 72 of hosts that are called" : ""}
        </span>
      </label>
      <label>
        Description
        <input name="description" maxLength={1_000} defaultValue={feed.description} autocomplete="off" />
      </label>
      <label>
        Leave out guarded addresses
        <input name="guard" type="checkbox" defaultChecked={feed.guard} />
      </label>
      <label>
        Keep addresses for an hour
        <input name="keep_fallen" type="checkbox" defaultChecked={feed.keep_fallen} />
        <span class="faint">when half of them, or all, go at one refresh; not for hosts that are called</span>
      </label>
      <label>
        Enabled
        <input name="enabled" type="checkbox" defaultChecked={feed.enabled} />
      </label>
      <ActionFault id="feed-fault" message={action.message} />
      <p class="actions">
        <button type="submit" disabled={action.isRunning}>
          {isNew ? "Make the feed" : "Save"}
        </button>
      </p>
    </form>
  );
}

function readForm(data: FormData): { readonly name: string; readonly definition: FeedDefinition } {
  const text = (name: string) => String(data.get(name) ?? "").trim();
  const definition = {
    of: text("of") === "callbacks" ? ("callbacks" as const) : ("visitors" as const),
    query: text("query"),
    days: Number(text("days")),
    description: text("description"),
    limit: Number(text("limit")),
    // Left out, it gets the default of what is listed.
    ...(text("ttl_hours") !== "" && { ttl_hours: Number(text("ttl_hours")) }),
    guard: data.has("guard"),
    keep_fallen: data.has("keep_fallen"),
    enabled: data.has("enabled"),
  };
  return { name: text("name"), definition };
}
