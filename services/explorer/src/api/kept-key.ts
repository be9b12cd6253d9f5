import { useEffect, useState } from "preact/hooks";
import { BASE } from "../routing/paths.ts";

/** The caller's key, empty for none. */
export type KeptKey = {
  readonly key: string;
  /** Whether the service no longer knows it. It stays until it is replaced: without it the pages would show less. */
  readonly isRefused: boolean;
};

/** The name is this service's alone: other prefixes of the same origin may lead to other services. */
const NAME = `noisefloor-key${BASE}`;
const listeners = new Set<() => void>();
let kept: KeptKey = { key: readStored() ?? "", isRefused: false };

/** Browsers forbid storage where their user has blocked it: the key then lives as long as the page. */
function readStored(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return undefined;
  }
}

/** Keeps the key for all tabs of this browser, until it is forgotten. @param key empty: forgets it. */
export function keepKey(key: string): void {
  try {
    if (key === "") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, key);
  } catch {
    // The same as in readStored.
  }
  change({ key, isRefused: false });
}

/** Remembers that the service does not know a key. */
export function refuseKey(key: string): void {
  if (key !== "" && key === kept.key && !kept.isRefused) change({ key, isRefused: true });
}

export const isKeptForAllTabs = () => readStored() !== undefined;

function change(changed: KeptKey): void {
  kept = changed;
  for (const listener of listeners) listener();
}

/** Another tab has changed the key; the name is null when it has cleared all storage. */
globalThis.addEventListener?.("storage", ({ key: name }) => {
  if (name === NAME || name === null) change({ key: readStored() ?? "", isRefused: false });
});

export function useKey(): KeptKey {
  const [current, setCurrent] = useState(kept);
  useEffect(() => {
    const listener = () => setCurrent(kept);
    listener();
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return current;
}
