import { BlockList, isIPv4 } from "node:net";

/** The counts that are compared. Logins are attempts, all others distinct values. */
export const COUNTED = ["sources", "sessions", "ports", "logins", "commands", "files"] as const;
export type Counted = (typeof COUNTED)[number];

/** What a raw record says that somebody did. */
export type Contact = {
  readonly source: unknown;
  readonly session?: unknown;
  readonly port?: unknown;
  readonly logins?: number;
  readonly command?: unknown;
  readonly file?: unknown;
};

export type RawCounts = {
  readonly name: Counted;
  readonly raw: number;
  /** Without what a documented limit leaves out. */
  readonly expected: number;
};

export type Tally = {
  add(contact: Contact): void;
  /** Only what the format can say. */
  counts(): RawCounts[];
  /** Why `expected` is less than `raw`. */
  reasons(): string[];
};

const UNROUTABLE = new BlockList();
for (const network of ["0/8", "10/8", "100.64/10", "127/8", "169.254/16", "172.16/12", "192.168/16", "224/3"]) {
  const [address = "", prefix] = network.split("/");
  UNROUTABLE.addSubnet(address.split(".").concat("0", "0", "0").slice(0, 4).join("."), Number(prefix));
}

/** Whether no packet from the Internet can come from an address, such as a container's. */
export const isInside = (address: string) => isIPv4(address) && UNROUTABLE.check(address);

/** Max commands and files of a session that are kept, and max characters of a command. */
const MAX = { commands: 64, files: 32, characters: 1_024, sessionLogins: 256 };

/** @param says what the format's records can say. */
export function createTally(says: readonly Counted[], isOwn: (address: string) => boolean): Tally {
  const all = new Map(says.map((name) => [name, new Set<string>()]));
  const kept = new Map(says.map((name) => [name, new Set<string>()]));
  const bySession = new Map<string, Map<Counted, number>>();
  const logins = { raw: 0, expected: 0 };
  const reasons = new Set<string>();

  const stored = new Map<string, boolean>();
  const isStoredSource = (address: string) => {
    const isStored = stored.get(address) ?? (isIPv4(address) && !UNROUTABLE.check(address) && !isOwn(address));
    stored.set(address, isStored);
    return isStored;
  };
  /** Counts one more for the session. @returns false beyond the limit. */
  const fits = (session: string, name: Counted, more: number, limit: number) => {
    const counts = bySession.get(session) ?? new Map<Counted, number>();
    bySession.set(session, counts);
    const sum = (counts.get(name) ?? 0) + more;
    counts.set(name, sum);
    if (sum > limit) reasons.add(`a session keeps ${limit} ${name}`);
    return sum <= limit;
  };
  return {
    add({ source, session, port, logins: attempts = 0, command, file }) {
      const address = String(source ?? "").replace(/^::ffff:/, "");
      const isStored = isStoredSource(address);
      if (!isStored) reasons.add("sources that are no routable IPv4 address");
      const id = `${address} ${String(session)}`;
      const note = (name: Counted, value: unknown, isKept: boolean) => {
        if (value === undefined || value === null || value === "") return;
        all.get(name)?.add(String(value));
        if (isKept) kept.get(name)?.add(String(value));
      };
      note("sources", address, isStored);
      note("sessions", session === undefined ? undefined : id, isStored);
      note("ports", port === undefined || port === null || port === "" ? undefined : Number(port), isStored);
      const isLimited = session !== undefined;
      if (command) {
        const text = [...String(command)].slice(0, MAX.characters).join("");
        note("commands", text, isStored && (!isLimited || fits(id, "commands", 1, MAX.commands)));
      }
      if (file) note("files", file, isStored && (!isLimited || fits(id, "files", 1, MAX.files)));
      logins.raw += attempts;
      const areCounted = attempts > 0 && (!isLimited || fits(id, "logins", 1, MAX.sessionLogins));
      if (isStored && areCounted) logins.expected += attempts;
    },
    counts: () =>
      says.map((name) =>
        name === "logins"
          ? { name, ...logins }
          : { name, raw: all.get(name)?.size ?? 0, expected: kept.get(name)?.size ?? 0 },
      ),
    reasons: () => [...reasons],
  };
}
