/** Ctrl-C under npm arrives twice, from the terminal and from npm: this soon after the first it is the same one. */
const SAME_SIGNAL_MS = 1_000;

/** The first signal asks for a clean stop; a later one ends the process where it stands. */
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
    // Ours first: a signal that has arrived and was not handed out yet is lost in a moment without any listener.
    process.on(name, onSignal);
    for (const listener of earlier) process.removeListener(name, listener);
  }
  return controller.signal;
}
