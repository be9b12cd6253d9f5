import type { DestinationType } from "@noisefloor/domain/watches/watch.ts";
import type { WatchDestination } from "../../../api/operations.ts";
import { Choice } from "../../../shell/controls/choice.tsx";
import { DestinationText } from "../destination-text.tsx";

/** A destination in the form. */
export type DestinationDraft = {
  /** Tells the fields of several apart. */
  readonly key: string;
  readonly type: DestinationType;
  /** One that the watch has, which stays as it is. */
  readonly kept?: WatchDestination;
};

const TYPES = [
  ["webhook", "a webhook"],
  ["slack", "Slack"],
  ["mattermost", "Mattermost"],
  ["ntfy", "ntfy"],
  ["email", "mail"],
  ["syslog", "syslog"],
] as const satisfies readonly (readonly [DestinationType, string])[];

type DestinationFieldsProps = {
  readonly draft: DestinationDraft;
  readonly onType: (type: DestinationType) => void;
  readonly onRemove: () => void;
};

/** The fields of a destination, which {@link readDestination} reads. */
export function DestinationFields({ draft: { key, type, kept }, onType, onRemove }: DestinationFieldsProps) {
  const remove = (
    <button type="button" class="quiet" onClick={onRemove}>
      Remove
    </button>
  );
  if (kept !== undefined) {
    return (
      <fieldset data-destination={kept.id}>
        <legend>Delivered to</legend>
        <p class="actions">
          <DestinationText {...kept} /> {remove}
        </p>
      </fieldset>
    );
  }
  return (
    <fieldset class="fields">
      <legend>Delivered to</legend>
      <p class="actions">
        <Choice label="By" name={`${key}-type`} options={TYPES} value={type} onChoose={onType} />
        {remove}
      </p>
      <TypeFields name={key} type={type} />
    </fieldset>
  );
}

function TypeFields({ name, type }: { readonly name: string; readonly type: DestinationType }) {
  if (type === "email") {
    return (
      <label>
        To
        <input name={`${name}-to`} required autocomplete="off" placeholder="soc@example.org" />
        <span class="faint">up to 20 addresses, with spaces between them</span>
      </label>
    );
  }
  if (type === "syslog") {
    return (
      <>
        <label>
          Host
          <input name={`${name}-host`} required autocomplete="off" placeholder="siem.example.org" />
        </label>
        <label>
          Port
          <input name={`${name}-port`} type="number" min={1} max={65_535} defaultValue={6514} required />
        </label>
        <label>
          Transport
          <select name={`${name}-transport`}>
            <option value="tls">TLS</option>
            <option value="tcp">TCP, unencrypted</option>
          </select>
        </label>
      </>
    );
  }
  return (
    <>
      <label>
        URL
        <input name={`${name}-url`} type="url" required autocomplete="off" placeholder={PLACEHOLDERS[type]} />
      </label>
      {type === "webhook" ? (
        <label>
          Body
          <select name={`${name}-format`}>
            <option value="standard">the event, as the API has it</option>
            <option value="greynoise">an alert, as SOAR handlers of GreyNoise read it</option>
          </select>
        </label>
      ) : null}
      {type === "ntfy" ? (
        <label>
          Token
          <input name={`${name}-token`} autocomplete="off" />
          <span class="faint">where the topic asks for one</span>
        </label>
      ) : null}
    </>
  );
}

const PLACEHOLDERS = {
  webhook: "https://soar.example.org/hook",
  slack: "https://hooks.slack.com/services/...",
  mattermost: "https://chat.example.org/hooks/...",
  ntfy: "https://ntfy.example.org/noise",
} as const;

/** A destination as the service takes it: of a kept one its id, which leaves it as it is. */
export function readDestination({ key, type, kept }: DestinationDraft, data: FormData): object {
  if (kept !== undefined) return { id: kept.id };
  const text = (name: string) => String(data.get(`${key}-${name}`) ?? "").trim();
  switch (type) {
    case "email":
      return { type, to: text("to").split(/[\s,]+/) };
    case "syslog":
      return { type, host: text("host"), port: Number(text("port")), transport: text("transport") };
    case "webhook":
      return { type, url: text("url"), format: text("format") };
    case "ntfy":
      return { type, url: text("url"), ...(text("token") !== "" && { token: text("token") }) };
    default:
      return { type, url: text("url") };
  }
}
