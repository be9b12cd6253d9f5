import { type RebalanceStep, rebalance } from "@noisefloor/clickhouse-cluster/rebalance/rebalance.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import { fractionBar } from "../../framework/progress.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";

export type RebalanceCommandOptions = OutputOptions & {
  readonly fromCluster: string;
  readonly fromDatabase: string;
  readonly finish: boolean;
};

/** `noisefloor cluster rebalance`. */
export async function runClusterRebalance(
  { fromCluster, fromDatabase, finish, json }: RebalanceCommandOptions,
  { settings, signal, print }: CommandContext,
): Promise<void> {
  const { server } = settings.clickhouse;
  if (server?.cluster === undefined) {
    throw new UserError("CLICKHOUSE_CLUSTER is not set: it names the cluster to spread the data over");
  }
  if (server.database === fromDatabase) {
    throw new UserError(
      `CLICKHOUSE_DATABASE and --from-database are both ${fromDatabase}: set CLICKHOUSE_DATABASE to the name of a new one`,
    );
  }
  let progress = fractionBar("", false);
  let shown: RebalanceStep | undefined;
  try {
    const { isComplete, portions, copied } = await rebalance({
      source: { ...server, cluster: fromCluster, database: fromDatabase },
      target: { ...server, cluster: server.cluster },
      migrations: MIGRATIONS_DIRECTORY,
      isLast: finish,
      signal,
      onProgress(step, done, total) {
        if (step !== shown) {
          progress.end();
          progress = fractionBar(`Rebalance (${step})`, settings.logLevel !== "silent");
          shown = step;
        }
        progress.show(done, total);
      },
    });
    progress.end();
    if (!isComplete) process.exitCode = 130;
    const isFinished = isComplete && finish;
    if (json) return print(JSON.stringify({ is_complete: isComplete, is_finished: isFinished, portions, copied }));
    const made = `Copied ${copied} of ${portions} portions (a table's partition for one server); the others were the same.`;
    for (const line of isComplete ? [made, ...nextSteps(isFinished, server)] : [made, STOPPED]) print(line);
  } finally {
    progress.end();
  }
}

const STOPPED = "It was cancelled: run it again, which goes on from here.";

function nextSteps(isFinished: boolean, server: { readonly database: string; readonly cluster?: string | undefined }) {
  if (!isFinished) return ["Stop the intake, then run it again with --finish. Until then no service opens the copy."];
  return [
    `The database ${server.database} is a store. Start all services with`,
    `  CLICKHOUSE_CLUSTER=${server.cluster} CLICKHOUSE_DATABASE=${server.database}`,
    "When they answer, drop the old databases: the one that was copied, and the one beside it whose name ends in _cluster.",
  ];
}
