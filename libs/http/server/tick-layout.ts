import { executionAsyncResource } from "node:async_hooks";

let kept: object | undefined;

/**
 * Keeps `process.nextTick` fast. Node makes an object for each call, and V8 makes it fast while it knows the layout of
 * these objects. It forgets that for good at a full garbage collection when none is alive, as in a service that is
 * idle: from then on each call takes more than twice as long, and a request has several. Lookups took a tenth to a
 * sixth longer. So one is kept alive.
 */
export function keepTickLayout(): void {
  if (kept !== undefined) return;
  process.nextTick(() => {
    kept = executionAsyncResource();
  });
}

/** The object that is kept. */
export const keptTick = (): object | undefined => kept;
