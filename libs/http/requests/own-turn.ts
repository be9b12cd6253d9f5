const waiting: (() => void)[] = [];

/**
 * Calls back in a turn of the event loop that no other callback has, in their order: what takes milliseconds for each
 * of many requests that arrived together must not add up to one long block.
 */
export function inOwnTurn(callback: () => void): void {
  waiting.push(callback);
  if (waiting.length === 1) setImmediate(callNext);
}

function callNext(): void {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(callNext);
  next?.();
}
