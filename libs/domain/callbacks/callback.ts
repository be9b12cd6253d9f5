/** A host that a visitor told the sensor to fetch from or to connect to. */
export type Callback = {
  /** An IPv4 address in dotted decimal, or a name in lower case. */
  readonly host: string;
  /** The port that was named, else the usual one of the scheme; 0 where neither says one. */
  readonly port: number;
  /** In lower case, like `http`, `ldap` or `tftp`; `tcp` for a bare connection. */
  readonly scheme: string;
  /** What was to be fetched, like `/bins.sh?x=1`; may be empty. */
  readonly path: string;
  /** The command, URL, path, header line or part of a body that named it. */
  readonly text: string;
  /** The SHA-256 of what the sensor fetched from there; empty where it does not say. */
  readonly sha256: string;
};

/** Whether two are the same in every member. */
export const keyOfCallback = ({ host, port, scheme, path, text, sha256 }: Callback): string =>
  JSON.stringify([host, port, scheme, path, text, sha256]);
