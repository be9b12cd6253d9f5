/** Runs something at intervals, never twice at the same time. Reports the first of consecutive failures. */
export function repeat(act: () => Promise<void>, everyMs: number | undefined, onError: (error: unknown) => void) {
  let acting: Promise<void> | undefined;
  let isFailing = false;
  const actOnce = async () => {
    try {
      await act();
      isFailing = false;
    } catch (error) {
      if (!isFailing) onError(error);
      isFailing = true;
    }
  };
  const begin = () => {
    acting ??= actOnce().finally(() => {
      acting = undefined;
    });
  };
  const timer = everyMs === undefined ? undefined : setInterval(begin, everyMs);
  timer?.unref();
  return {
    async stop(): Promise<void> {
      clearInterval(timer);
      await acting;
    },
  };
}
