import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import {
  type NamedColumn,
  type ObservationFilter,
  readNames,
} from "@noisefloor/clickhouse/observations/observation-filter.ts";
import { DATASETS } from "@noisefloor/domain/access/scope.ts";
import { isIpv4, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { UserError } from "../../framework/command.ts";
import { printable } from "../../framework/output.ts";
import { readSince } from "../../framework/since.ts";

/** The conditions as they are typed; a list is undefined when its option is not given. */
export type ConditionOptions = {
  readonly sensor?: readonly string[] | undefined;
  readonly address?: readonly string[] | undefined;
  readonly network?: readonly string[] | undefined;
  readonly dataset?: readonly string[] | undefined;
  readonly workspace?: readonly string[] | undefined;
  readonly format?: readonly string[] | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly receivedSince?: string | undefined;
};

const NAMES = "--sensor, --address, --network, --dataset, --workspace, --format, --since, --until and --received-since";

/** @throws UserError when there is no condition, or one that no observation can meet. */
export function readConditions(options: ConditionOptions, now: number): ObservationFilter {
  const { sensor, address, network, dataset, workspace, format, since, until, receivedSince } = options;
  const given = [sensor, address, network, dataset, workspace, format, since, until, receivedSince];
  if (given.every((one) => one === undefined)) {
    throw new UserError(`say which observations to remove: by ${NAMES}`);
  }
  for (const ip of address ?? []) {
    if (!isIpv4(ip)) throw new UserError(`--address takes an IPv4 address, not "${printable(ip)}"`);
  }
  const timeOf = (text: string | undefined, option: string) =>
    text === undefined ? undefined : readSince(text, now, option);
  const [from, to] = [timeOf(since, "--since"), timeOf(until, "--until")];
  if (from !== undefined && to !== undefined && from >= to) throw new UserError("--since is not before --until");
  for (const name of dataset ?? []) {
    if (!DATASETS.some((known) => known === name)) throw unknownName("dataset", name, DATASETS);
  }
  return {
    ...{ sensors: sensor, addresses: address, datasets: dataset, workspaces: workspace, formats: format, from, to },
    networks: network?.map((text) => {
      const parsed = parseNetwork(text);
      if (typeof parsed === "string") throw new UserError(`--network "${printable(text)}": ${parsed}`);
      return parsed;
    }),
    receivedFrom: timeOf(receivedSince, "--received-since"),
  };
}

/** @throws UserError for a name that no stored observation has, as it was probably misspelled. */
export async function assertNamesExist(
  client: ClickHouseClient,
  { sensors, workspaces, formats }: ObservationFilter,
): Promise<void> {
  const given: readonly [column: NamedColumn, what: string, names: readonly string[] | undefined][] = [
    ["sensor_id", "sensor", sensors],
    ["workspace_id", "workspace", workspaces],
    ["format", "format", formats],
  ];
  for (const [column, what, names] of given) {
    if (names === undefined) continue;
    const known = await readNames(client, column);
    const unknown = names.find((name) => !known.includes(name));
    if (unknown !== undefined) throw unknownName(what, unknown, known);
  }
}

const LISTED = 20;

function unknownName(what: string, name: string, known: readonly string[]): UserError {
  const listed = known.slice(0, LISTED).map(printable).join(", ");
  const others = known.length > LISTED ? ` and ${known.length - LISTED} others` : "";
  const there = known.length === 0 ? "none names one" : `there are ${listed}${others}`;
  return new UserError(`no stored observation has the ${what} "${printable(name)}"; ${there}`);
}
