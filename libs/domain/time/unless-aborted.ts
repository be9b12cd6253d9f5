/** Resolves as the promise does, unless the signal aborts first. @throws the signal's reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves as the promise does, if that is within some milliseconds. @throws Error with the message when it is not. */
export async function inTime<T>(promise: Promise<T>, ms: number, message: string): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(message)), ms).unref();
  try {
    return await unlessAborted(promise, late.signal);
  } finally {
    clearTimeout(timer);
  }
}
