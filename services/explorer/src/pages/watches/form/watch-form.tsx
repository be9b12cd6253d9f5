import type { DestinationType, WatchType } from "@noisefloor/domain/watches/watch.ts";
import { useState } from "preact/hooks";
import type { Watch } from "../../../api/operations.ts";
import { useAction } from "../../../api/use-action.ts";
import { addWatch, changeWatch } from "../../../api/watches.ts";
import { ActionFault } from "../../../shell/action-fault.tsx";
import { ConditionFields, emptyCondition, KINDS, readCondition } from "./condition-fields.tsx";
import { type DestinationDraft, DestinationFields, readDestination } from "./destination-fields.tsx";

type WatchFormProps = {
  /** What the fields have at first; without an id it is a new watch. */
  readonly watch: Pick<Watch, "id" | "name" | "on" | "repeat_after_hours" | "enabled" | "deliver">;
  readonly onSaved: (watch: Watch) => void;
};

/** Hours after which a kind of watch tells again, unless its reader chooses others. */
export const defaultHours = (type: WatchType) => (type === "network_seen" || type === "tag_rises" ? 24 : 0);

/** Makes a watch, or changes one. */
export function WatchForm({ watch, onSaved }: WatchFormProps) {
  const action = useAction();
  const [kind, setKind] = useState<WatchType>(watch.on.type);
  const { drafts, add, setType, remove } = useDrafts(watch.deliver);
  const isNew = watch.id === "";
  const isSame = kind === watch.on.type;
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const data = new FormData(event.currentTarget);
    const definition = {
      name: String(data.get("name") ?? "").trim(),
      on: readCondition(kind, data),
      repeat_after_hours: Number(data.get("repeat_after_hours")),
      enabled: data.has("enabled"),
      deliver: drafts.map((draft) => readDestination(draft, data)),
    };
    const saved = await action.run(isNew ? addWatch(definition) : changeWatch(watch.id, definition));
    if (saved !== undefined) onSaved(saved);
  };
  const choose = ({ currentTarget }: Event) => {
    const chosen = KINDS.find(([one]) => currentTarget instanceof HTMLSelectElement && one === currentTarget.value);
    if (chosen !== undefined) setKind(chosen[0]);
  };
  return (
    <form class="fields" aria-label={isNew ? "A new watch" : "Change the watch"} onSubmit={save}>
      <label>
        Name
        <input name="name" required maxLength={200} defaultValue={watch.name} autocomplete="off" />
      </label>
      <label>
        Waits until
        <select name="kind" value={kind} onChange={choose}>
          {KINDS.map(([type, text]) => (
            <option key={type} value={type}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <ConditionFields key={kind} on={isSame ? watch.on : emptyCondition(kind, "")} errorId="watch-fault" />
      {kind === "sensor_silent" || kind === "new_value" ? (
        <input type="hidden" name="repeat_after_hours" value={0} />
      ) : (
        <label key={`${kind} hours`}>
          Tells again after
          <input
            name="repeat_after_hours"
            type="number"
            min={0}
            max={2_160}
            defaultValue={isSame ? watch.repeat_after_hours : defaultHours(kind)}
            required
          />
          <span class="faint">hours of the same address or tag; 0 for never</span>
        </label>
      )}
      {drafts.map((draft) => (
        <DestinationFields
          key={draft.key}
          draft={draft}
          onType={(type) => setType(draft.key, type)}
          onRemove={() => remove(draft.key)}
        />
      ))}
      <p class="actions">
        <button type="button" class="quiet" onClick={add}>
          Add a destination
        </button>
        {drafts.length === 0 ? <span class="faint">Without one, its events are shown here and fetched.</span> : null}
      </p>
      <label>
        Enabled
        <input name="enabled" type="checkbox" defaultChecked={watch.enabled} />
      </label>
      <ActionFault id="watch-fault" message={action.message} />
      <p class="actions">
        <button type="submit" disabled={action.isRunning}>
          {isNew ? "Make the watch" : "Save"}
        </button>
      </p>
    </form>
  );
}

/** The destinations of the form. */
function useDrafts(deliver: Watch["deliver"]) {
  const [drafts, setDrafts] = useState<readonly DestinationDraft[]>(() =>
    deliver.map((kept) => ({ key: kept.id, type: kept.type, kept })),
  );
  const [made, setMade] = useState(0);
  return {
    drafts,
    add() {
      setDrafts([...drafts, { key: `new-${made}`, type: "webhook" }]);
      setMade(made + 1);
    },
    setType: (key: string, type: DestinationType) =>
      setDrafts(drafts.map((draft) => (draft.key === key ? { ...draft, type } : draft))),
    remove: (key: string) => setDrafts(drafts.filter((draft) => draft.key !== key)),
  };
}
