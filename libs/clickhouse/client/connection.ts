/** Where a ClickHouse server is and as whom to talk to it. */
export type ClickHouseConnection = {
  readonly url: string;
  /** URLs of other servers of the cluster, for when this one is away. */
  readonly otherUrls?: readonly string[] | undefined;
  readonly username: string;
  readonly password: string;
  readonly database: string;
  /** The cluster whose servers hold the observations, as this server's `remote_servers` calls it. */
  readonly cluster?: string | undefined;
};
