/**
 * Works on all servers of a cluster side by side, and ends when the work on each has ended: a failure of one stops the
 * others.
 * @param work stops when its signal aborts.
 * @throws the first server's error, of those that failed.
 */
export async function onAllServers<T>(
  servers: readonly T[],
  signal: AbortSignal,
  work: (server: T, index: number, stop: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const ends = await Promise.allSettled(
    servers.map((server, index) =>
      work(server, index, stop).catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    ),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

type OnProgress = (done: number, total: number) => void;

/** Adds up the progress on several servers. @returns what the work on the server with an index calls. */
export function sumProgress(servers: number, onProgress: OnProgress): (index: number) => OnProgress {
  const [done, total] = [new Array<number>(servers).fill(0), new Array<number>(servers).fill(0)];
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  return (index) => (ownDone, ownTotal) => {
    done[index] = ownDone;
    total[index] = ownTotal;
    onProgress(sum(done), sum(total));
  };
}
