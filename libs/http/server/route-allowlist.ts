import type { IncomingMessage } from "node:http";
import { pathOf } from "../requests/request-target.ts";

const offeredTo = new WeakMap<IncomingMessage, ReadonlySet<string>>();

/** Lets a request reach these routes only, each written like `POST /`: all other paths are unknown to it. */
export function offerOnly(request: IncomingMessage, routes: ReadonlySet<string>): void {
  offeredTo.set(request, routes);
}

export function isRestricted(request: IncomingMessage): boolean {
  return offeredTo.has(request);
}

/**
 * The target that the router gets. Of a route that is not offered, nothing may run, not even the hook that makes pages
 * of its errors, so the router gets a path that no route has.
 */
export function offeredTarget(request: IncomingMessage, target: string): string {
  const routes = offeredTo.get(request);
  const method = request.method === "HEAD" ? "GET" : request.method;
  return routes === undefined || routes.has(`${method} ${pathOf(target)}`) ? target : `/not-offered-here${target}`;
}
