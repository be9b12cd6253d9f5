import type { ClickHouseClient } from "./client.ts";
import { isTransient } from "./errors.ts";

/**
 * Asks every server. One that is away is left out when another one that has the same rows answers.
 * @throws the error of an owner none of whose servers answered, or that of a server that answered with one.
 */
export async function askServers<T>(
  client: ClickHouseClient,
  ask: (server: ClickHouseClient) => Promise<T>,
): Promise<readonly T[]> {
  const answers = (await client.servers()).map(async (servers) => {
    const ended = await Promise.allSettled(servers.map(ask));
    const answered = ended.filter((one) => one.status === "fulfilled").map(({ value }) => value);
    const failed = ended.filter((one) => one.status === "rejected").map(({ reason }) => reason);
    const broken = failed.find((reason) => answered.length === 0 || !isTransient(reason));
    if (broken !== undefined) throw broken;
    return answered;
  });
  return (await Promise.all(answers)).flat();
}
