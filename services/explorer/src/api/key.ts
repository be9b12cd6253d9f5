import { useEffect, useState } from "preact/hooks";

const NAME = "noisefloor-key";
const listeners = new Set<() => void>();

/** The caller's key, empty for none. The browser keeps it for this tab until the tab is closed. */
export function currentKey(): string {
  return sessionStorage.getItem(NAME) ?? "";
}

export function setKey(key: string): void {
  if (key === "") sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, key);
  for (const listener of listeners) listener();
}

export function useKey(): string {
  const [key, setCurrent] = useState(currentKey);
  useEffect(() => {
    const listener = () => setCurrent(currentKey());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return key;
}
