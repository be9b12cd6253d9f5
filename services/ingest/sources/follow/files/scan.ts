import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import type { FollowedFile } from "@noisefloor/clickhouse/intake/followed-files.ts";
import type { Logger } from "pino";
import { type Content, openPacked, openPlain } from "../content/content.ts";
import { hasFingerprint } from "../content/fingerprint.ts";
import { type KnownContents, type Place, placeKey } from "./known-contents.ts";
import { expand, type FollowTarget } from "./targets.ts";
import { isHot, isKeptOpen, type NewFileOptions, newFile, type TrackedFile, track } from "./tracked-file.ts";

/** Why a file is not read. What a copy holds is read where it was copied from. */
type Reason = Pick<FollowedFile, "state" | "detail"> & { readonly isCopy?: true };

/** A path that is not read, and why. */
export type Problem = Reason & { readonly path: string; readonly target: FollowTarget; readonly size: number };

export type ScannerOptions = {
  readonly targets: readonly FollowTarget[];
  /** By {@link placeKey}. */
  readonly tracked: Map<string, TrackedFile>;
  readonly known: KnownContents;
  /** Called when other content lies at a place: what was there is known by its beginning alone. */
  readonly retire: (tracked: TrackedFile) => Promise<void>;
  readonly now: () => number;
  readonly log: Logger;
};

export type Scanner = {
  /** Looks for new files, and at all that are known. */
  scanAll(): Promise<void>;
  /** Looks at those that were written lately. */
  scanHot(): Promise<void>;
  problems(): readonly Problem[];
};

/** What is packed into a file that was not written to for so long is whole. */
const SETTLED_MS = 60_000;

type Found = { readonly path: string; readonly target: FollowTarget; readonly stats: BigIntStats };

/** Finds the files of targets, and follows renamed ones. */
export function openScanner(options: ScannerOptions): Scanner {
  const { targets, tracked, known, now, log } = options;
  let problems = new Map<string, Problem>();
  /** Packed files that were not there, or smaller, a scan ago: a packer may be writing them. */
  let fresh = new Map<string, bigint>();

  const report = (problem: Problem, found: Map<string, Problem>) => {
    const before = problems.get(problem.path);
    found.set(problem.path, problem);
    if (problem.state === "waiting" || before?.detail === problem.detail) return;
    log.warn({ path: problem.path, state: problem.state }, `cannot follow a file: ${problem.detail}`);
  };

  const see = async ({ path, stats }: Found): Promise<boolean> => {
    const there = tracked.get(placeKey(placeOf(stats)));
    if (there === undefined) return false;
    const { file } = there;
    // The file system may have given the inode to another file.
    if (path !== file.path && !(await beginsAsBefore(path, file))) {
      await options.retire(there);
      return false;
    }
    const [size, modifiedAt] = [Number(stats.size), Number(stats.mtimeMs)];
    if (size !== file.size || modifiedAt !== file.modifiedAt) there.changedAt = performance.now();
    there.file = { ...there.file, path, size, modifiedAt };
    there.isPresent = true;
    return true;
  };

  /** Whether it may be packed at the moment: packers set the time of what they packed once they are done. */
  const isGrowing = ({ path, stats }: Found, packed: Map<string, bigint>) => {
    packed.set(path, stats.size);
    return Number(stats.mtimeMs) > now() - SETTLED_MS && fresh.get(path) !== stats.size;
  };

  /** @returns why it is not read now. */
  const begin = async (found: Found, packed: Map<string, bigint>): Promise<Reason | undefined> => {
    const { path, target, stats } = found;
    const plain = await openPlain(path);
    let closing: Content | undefined = plain;
    try {
      const start = await plain.head();
      const archive = ARCHIVES.find(({ magic }) => start.subarray(0, magic.length).equals(magic));
      if (archive !== undefined)
        return { state: "unknown-format", detail: `unpack it, or use gzip: it is ${archive.name}` };
      const isPacked = start[0] === 0x1f && start[1] === 0x8b;
      if (isPacked && isGrowing(found, packed)) return { state: "waiting", detail: "it may still be growing" };
      const head = isPacked ? await headOfPacked(path) : start;
      const size = Number(stats.size);
      const given = { path, place: placeOf(stats), target, head, isPacked, size, modifiedAt: Number(stats.mtimeMs) };
      const copies = known.copiesOf(head);
      const file = knownAs(known, given) ?? newFile({ ...given, copyOf: copies[0] });
      const original = copies.find((copy) => copy.id !== file.id && isFollowed(copy));
      if (original !== undefined)
        return { state: "waiting", detail: `it is a copy of ${original.path}, which is followed`, isCopy: true };
      const next = track(file, target);
      if (isKeptOpen(next, now())) [next.content, closing] = [plain, undefined];
      // After a start, thousands of rotated files need not be opened again.
      if (file.position === size && known.at(file, head)?.modifiedAt === file.modifiedAt) {
        next.nothingAt = { size, modifiedAt: file.modifiedAt, isEnd: true };
      }
      known.set(file);
      tracked.set(placeKey(file), next);
      return undefined;
    } finally {
      await closing?.close();
    }
  };

  const isFollowed = (file: FollowedFile) => {
    const there = tracked.get(placeKey(file));
    return there?.isPresent === true && there.file.id === file.id;
  };

  return {
    problems: () => [...problems.values()],
    async scanAll() {
      const paths = new Map<string, Found>();
      const places = new Set<string>();
      const found = new Map<string, Problem>();
      const explain = (target: FollowTarget) => (error: unknown) => {
        const reason = explainFailure(error);
        if (reason !== undefined) report({ path: target.pattern, target, ...reason, size: 0 }, found);
        return [];
      };
      for (const target of targets) {
        for (const path of await expand(target).catch(explain(target))) {
          if (paths.has(path)) continue;
          const stats = await stat(path, { bigint: true }).catch(() => undefined);
          if (stats?.isFile()) paths.set(path, { path, target, stats });
        }
      }
      const news: Found[] = [];
      for (const one of paths.values()) {
        const key = placeKey(placeOf(one.stats));
        // Several links lead to one file.
        if (places.has(key)) continue;
        places.add(key);
        if (!(await see(one))) news.push(one);
      }
      for (const [key, one] of tracked) if (!places.has(key)) one.isPresent = false;
      const packed = new Map<string, bigint>();
      // What is known to lie somewhere comes first: a copy of it waits. Then the oldest.
      const isKnown = ({ stats }: Found) => (known.has(placeOf(stats)) ? 0 : 1);
      news.sort((one, other) => isKnown(one) - isKnown(other) || Number(one.stats.mtimeNs - other.stats.mtimeNs));
      for (const one of news) {
        const reason = await begin(one, packed).catch(explainFailure);
        if (reason !== undefined) report({ ...one, ...reason, size: Number(one.stats.size) }, found);
      }
      [problems, fresh] = [found, packed];
    },
    async scanHot() {
      for (const [key, one] of tracked) {
        if (!isHot(one)) continue;
        const stats = one.isPresent ? await stat(one.file.path, { bigint: true }).catch(() => undefined) : undefined;
        if (stats !== undefined && placeKey(placeOf(stats)) === key)
          await see({ path: one.file.path, target: one.target, stats });
        else {
          one.isPresent = false;
          const size = await one.content?.size();
          if (size === undefined || size === one.file.size) continue;
          one.changedAt = performance.now();
          one.file = { ...one.file, size };
        }
      }
    },
  };
}

/** What is stored of a content that lies where it did. */
function knownAs(known: KnownContents, given: NewFileOptions): FollowedFile | undefined {
  const { path, place, head, isPacked, size, modifiedAt } = given;
  const file = known.at(place, head);
  if (file === undefined || file.isPacked !== isPacked || (!isPacked && file.position > size)) return undefined;
  const isComplete = file.resume.isComplete && file.size === size;
  return { ...file, path, size, modifiedAt, resume: { ...file.resume, isComplete }, state: "following", detail: "" };
}

async function beginsAsBefore(path: string, file: FollowedFile): Promise<boolean> {
  if (file.isPacked) return true;
  const content = await openPlain(path);
  try {
    return hasFingerprint(await content.head(), file);
  } finally {
    await content.close();
  }
}

async function headOfPacked(path: string): Promise<Buffer> {
  const content = openPacked(path);
  try {
    return await content.head();
  } finally {
    await content.close();
  }
}

/** What other packers' files begin with. */
const ARCHIVES = [
  { name: "xz", magic: Buffer.from("fd377a585a00", "hex") },
  { name: "Zstandard", magic: Buffer.from("28b52ffd", "hex") },
  { name: "bzip2", magic: Buffer.from("BZh") },
  { name: "a ZIP archive", magic: Buffer.from("504b0304", "hex") },
];

function explainFailure(error: unknown): Reason | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  // It was removed a moment ago.
  if (code === "ENOENT") return undefined;
  if (code === "Z_BUF_ERROR") return { state: "waiting", detail: "its gzip data end early" };
  if (code !== "EACCES" && code !== "EPERM") return { state: "unreadable", detail: message };
  return {
    state: "unreadable",
    detail: `user ${process.getuid?.()} may not read it: change its mode, or add the user to its group`,
  };
}

const placeOf = ({ dev, ino }: BigIntStats): Place => ({ device: String(dev), inode: String(ino) });
