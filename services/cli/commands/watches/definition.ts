import type { NewValueField, WatchCondition } from "@noisefloor/domain/watches/watch.ts";
import { UserError } from "../../framework/command.ts";

/** What a watch waits for and where its events go, by the options of `add` and `change`. */
export type DefinitionOptions = {
  readonly network?: readonly string[];
  readonly search?: string;
  readonly tag?: string;
  readonly newValue?: NewValueField;
  readonly minAddresses?: number;
  readonly silentAfter?: number;
  readonly sensor?: readonly string[];
  readonly repeatAfterHours?: number;
  readonly webhook?: readonly string[];
  readonly webhookFormat?: "standard" | "greynoise";
  readonly slack?: readonly string[];
  readonly mattermost?: readonly string[];
  readonly ntfy?: readonly string[];
  readonly ntfyToken?: string;
  readonly email?: readonly string[];
  readonly syslog?: readonly string[];
  readonly syslogTransport?: "tcp" | "tls";
};

export const KINDS = "--network, --search, --tag, --new-value or --silent-after";

/** The condition as the interface takes it, undefined without an option of one. @throws UserError for several. */
export function conditionOf(options: DefinitionOptions): Partial<WatchCondition> | undefined {
  const { network: networks, search: query, tag, newValue: field, silentAfter } = options;
  const { minAddresses: min_addresses, sensor: sensors } = options;
  const given = [
    ...(networks === undefined ? [] : [{ type: "network_seen" as const, networks: [...networks] }]),
    ...(query === undefined ? [] : [{ type: "search_matches" as const, query }]),
    ...(tag === undefined ? [] : [{ type: "tag_rises" as const, tag }]),
    ...(field === undefined
      ? []
      : [{ type: "new_value" as const, field, ...(min_addresses !== undefined && { min_addresses }) }]),
    ...(silentAfter === undefined
      ? []
      : [{ type: "sensor_silent" as const, after_minutes: silentAfter, sensors: [...(sensors ?? [])] }]),
  ];
  if (given.length > 1) throw new UserError(`a watch waits for one thing: one of ${KINDS}`);
  if (sensors !== undefined && silentAfter === undefined) throw new UserError("--sensor goes with --silent-after");
  if (min_addresses !== undefined && field === undefined) throw new UserError("--min-addresses goes with --new-value");
  return given[0];
}

/** The destinations as the interface takes them. @throws UserError */
export function destinationsOf(options: DefinitionOptions): readonly object[] {
  const { webhook = [], webhookFormat: format, slack = [], mattermost = [], ntfy = [], ntfyToken: token } = options;
  const { email, syslog = [], syslogTransport: transport } = options;
  return [
    ...webhook.map((url) => ({ type: "webhook", url, format })),
    ...slack.map((url) => ({ type: "slack", url })),
    ...mattermost.map((url) => ({ type: "mattermost", url })),
    ...ntfy.map((url) => ({ type: "ntfy", url, token })),
    ...(email === undefined ? [] : [{ type: "email", to: email }]),
    ...syslog.map((receiver) => ({ type: "syslog", ...receiverOf(receiver), transport })),
  ];
}

function receiverOf(text: string): { readonly host: string; readonly port: number } {
  const [, host = "", port = ""] = /^\[?(.+?)\]?:(\d{1,5})$/.exec(text) ?? [];
  if (host === "") throw new UserError(`--syslog takes a host and a port, like siem.example.org:6514, not "${text}"`);
  return { host, port: Number(port) };
}
