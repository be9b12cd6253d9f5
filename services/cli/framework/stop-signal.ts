/**
 * Under npm, Ctrl-C arrives twice: from the terminal and from npm. A signal this soon after the first is the same one.
 */
const SAME_SIGNAL_MS = 1_000;

/** Aborts at the first signal, for a clean shutdown. A later signal ends the process immediately. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let firstAt = 0;
  const onSignal = () => {
    if (controller.signal.aborted && Date.now() - firstAt > SAME_SIGNAL_MS) process.exit(130);
    if (!controller.signal.aborted) firstAt = Date.now();
    controller.abort();
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    const earlier = process.listeners(name);
    // Add ours before removing the others: a signal that arrives while there is no listener is lost.
    process.on(name, onSignal);
    for (const listener of earlier) process.removeListener(name, listener);
  }
  return controller.signal;
}
