import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import type { RebalanceCommandOptions } from "./rebalance.ts";

const CHECK_HELP = `
Exit code: 0 when every server answers, has the current schema, only addresses of its shard and, as a replica, all rows, else
1. It changes nothing.`;

const REBALANCE_HELP = `
CLICKHOUSE_CLUSTER and CLICKHOUSE_DATABASE name the cluster and the new database to copy into; --from-cluster and
--from-database name those that the services use. Every server of the new cluster lists both clusters in remote_servers.
The services go on meanwhile, as nothing changes where they read and write. The servers need the space for a second copy.

Run it once or several times without --finish: each run copies what is not the same in both, by partition. Ctrl-C stops
it, and the next run goes on. Then stop the intake and run it with --finish: that copies the rest, with tags, lists of
networks, workspaces and keys, rebuilds the rollups and compares all rows. Questions are answered from the old database
until the services are started with the new settings.`;

export const define: DefineCommand = (cluster, createContext) => {
  cluster
    .command("check")
    .description(
      "of each server: whether it answers, its schema, its share of the observations, whether a replica has all rows",
    )
    .addHelpText("after", CHECK_HELP)
    .action(async (options: OutputOptions) =>
      (await import("./check.ts")).runClusterCheck(options, await createContext()),
    );
  cluster
    .command("rebalance")
    .description(
      "copy a store into a new database, spread over other shards, while the services answer from the old one",
    )
    .requiredOption("--from-cluster <name>", "the cluster that the services use")
    .requiredOption("--from-database <name>", "the database that the services use")
    .option("--finish", "the intake is stopped: copy the rest, and make the copy a store", false)
    .addHelpText("after", REBALANCE_HELP)
    .action(async (options: RebalanceCommandOptions) =>
      (await import("./rebalance.ts")).runClusterRebalance(options, await createContext()),
    );
};
