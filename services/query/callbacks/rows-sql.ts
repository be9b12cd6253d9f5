import { CALLBACKS } from "@noisefloor/clickhouse/client/table-names.ts";
import { inScopes } from "../scope-sql.ts";

/**
 * SQL after FROM, to which conditions can be added: the rows of callbacks in the scopes that were named since {since:Int64},
 * in milliseconds since 1970 UTC. A row is of one hour.
 */
export const callbackRows = (maxScopes: number): string =>
  `${CALLBACKS} WHERE ${inScopes(maxScopes)} AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;

/** The ports that URLs leave out. */
const USUAL_PORTS = { http: 80, https: 443, ftp: 21, ldap: 389, ldaps: 636, rmi: 1099, tftp: 69 } as const;
const list = (values: readonly (string | number)[]) =>
  `[${values.map((value) => (typeof value === "string" ? `'${value}'` : value)).join(", ")}]`;
const USUAL_PORT = `transform(scheme, ${list(Object.keys(USUAL_PORTS))}, ${list(Object.values(USUAL_PORTS))}, 0)`;

/** SQL: what was to be fetched or connected to, as a URL; empty where no scheme is known. */
export const URL_SQL = `if(scheme = '', '', concat(scheme, '://', host,
  if(port IN (0, ${USUAL_PORT}), '', concat(':', toString(port))), path))`;

/** SQL: the text that named a host, unless it is a URL and nothing else; empty else. */
export const COMMAND_SQL = `if(match(text, '^[A-Za-z][A-Za-z0-9+.-]*://\\\\S*$'), '', text)`;
