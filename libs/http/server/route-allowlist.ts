import type { IncomingMessage } from "node:http";
import { pathOf } from "../requests/request-target.ts";

/** Whether a request may reach its route: `HEAD` counts as `GET`. @param path its path, without the query. */
export type IsOffered = (request: IncomingMessage, method: string, path: string) => boolean;

const offeredTo = new WeakMap<IncomingMessage, IsOffered>();

/** Lets a request reach its route only where that is offered: all other paths are unknown to it. */
export function offerOnly(request: IncomingMessage, isOffered: IsOffered): void {
  offeredTo.set(request, isOffered);
}

export function isRestricted(request: IncomingMessage): boolean {
  return offeredTo.has(request);
}

/**
 * The target that the router gets. Of a route that is not offered, nothing may run, not even the hook that makes pages
 * of its errors, so the router gets a path that no route has.
 */
export function offeredTarget(request: IncomingMessage, target: string): string {
  const isOffered = offeredTo.get(request);
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  return isOffered?.(request, method, pathOf(target)) === false ? `/not-offered-here${target}` : target;
}
