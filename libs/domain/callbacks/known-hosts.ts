import { isIpv4 } from "../address/ipv4.ts";
import { INCLUDED_HOSTS, type IncludedHost } from "./included-hosts.ts";

/** A host that a workspace added, in lower case: it and every name below it, or an address. */
export type OwnKnownHost = {
  readonly host: string;
  readonly note: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdAt: number;
};

/** Why a callback is a known host: an entry of the list that comes along, or one of the workspace's own. */
export type KnownName =
  | ({ readonly type: "included" } & IncludedHost)
  | { readonly type: "own"; readonly host: string; readonly note: string };

/** @param host as `Callback` has it. @returns undefined for one that may be an intruder's. */
export type FindKnownHost<Reason> = (host: string) => KnownName | Reason | undefined;

const INCLUDED: ReadonlyMap<string, KnownName> = new Map(
  INCLUDED_HOSTS.map((entry) => [entry.host, { type: "included", ...entry }]),
);

/** The names above some entries: a list that blocks a name and all below it would block the entries, too. */
function namesAbove(entries: ReadonlyMap<string, KnownName>): ReadonlyMap<string, KnownName> {
  const above = new Map<string, KnownName>();
  for (const [host, entry] of entries) {
    if (isIpv4(host)) continue;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const name = host.slice(dot + 1);
      if (name.includes(".")) above.set(name, entry);
    }
  }
  return above;
}
const ABOVE_INCLUDED = namesAbove(INCLUDED);

/**
 * Tells well-known hosts from those of intruders: by the entry of the list that comes along or of the workspace that
 * names the host itself or, nearest first, one above it, or else one below it; of addresses also by what guards them.
 * @param findGuard why the lists of the workspace never have an address.
 */
export function knownHostFinder<Reason>(
  own: readonly OwnKnownHost[],
  findGuard: (address: string) => Reason | undefined,
): FindKnownHost<Reason> {
  const ownNames: ReadonlyMap<string, KnownName> = new Map(
    own.map(({ host, note }) => [host, { type: "own", host, note }]),
  );
  const aboveOwn = namesAbove(ownNames);
  return (host) => {
    if (isIpv4(host)) return ownNames.get(host) ?? INCLUDED.get(host) ?? findGuard(host);
    for (let name = host; name !== ""; name = name.slice(name.indexOf(".") + 1 || name.length)) {
      const known = ownNames.get(name) ?? INCLUDED.get(name);
      if (known !== undefined && (name === host || known.type === "own" || !known.isExact)) return known;
    }
    return aboveOwn.get(host) ?? ABOVE_INCLUDED.get(host);
  };
}

/** Whether it is a known host of code and files, not an address that is guarded. */
export const isKnownName = (reason: KnownName | { readonly type: string }): reason is KnownName =>
  reason.type === "included" || reason.type === "own";

const MAX_LENGTH = 253;
const NAME = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * A host as callbacks have it: `Example.ORG.` → `example.org`, `bücher.example` → `xn--bcher-kva.example`. A name has two
 * labels at least: one alone would stand for a whole top-level domain.
 * @returns undefined for what is no name and no IPv4 address.
 */
export function readHost(text: string): string | undefined {
  if (isIpv4(text)) return text;
  if (!/^[\p{L}\p{M}\p{N}._-]+$/u.test(text) || !URL.canParse(`http://${text}`)) return undefined;
  const host = new URL(`http://${text}`).hostname.replace(/\.$/, "");
  return host.length <= MAX_LENGTH && NAME.test(host) ? host : undefined;
}
