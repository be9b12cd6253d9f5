import { setTimeout as sleep } from "node:timers/promises";
import type { FollowedFile } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { Logger } from "pino";
import { openPacked, openPlain } from "./content/content.ts";
import { endsWithObject } from "./content/cut-piece.ts";
import { type FollowedPiece, openReading } from "./content/reading.ts";
import { createKnownContents, placeKey } from "./files/known-contents.ts";
import { openScanner, type Problem } from "./files/scan.ts";
import type { FollowTarget } from "./files/targets.ts";
import {
  isDue,
  isFinished,
  isKeptOpen,
  isQuiet,
  isUnchanged,
  newFile,
  readingAt,
  type TrackedFile,
} from "./files/tracked-file.ts";

/** Where positions are kept. */
export type PositionStore = {
  read(): Promise<readonly FollowedFile[]>;
  write(files: readonly FollowedFile[]): Promise<void>;
};

/** Stores the records of a piece. The promises reject when they could not be stored: they are read again. */
export type StorePiece = (piece: FollowedPiece) => {
  /** Resolves once the next piece may be read. */
  readonly prepared: Promise<unknown>;
  readonly stored: Promise<unknown>;
};

export type FollowerOptions = {
  readonly targets: readonly FollowTarget[];
  readonly positions: PositionStore;
  readonly store: StorePiece;
  /**
   * Whether another intake decodes the records: it may know formats that nothing knows here, and names records by where
   * their piece begins, so that position is stored first.
   */
  readonly isForwarding?: boolean;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly log: Logger;
  /** How often it looks, in milliseconds; {@link PACE} unless given. */
  readonly pace?: Pace;
};

type Pace = { readonly hotMs: number; readonly scanMs: number; readonly flushMs: number; readonly pauseMs: number };

export type Follower = {
  /** The files that are followed, or could not be. */
  files(): readonly FollowedFile[];
  /** Stops reading. Resolves when what was read is stored, and how far. */
  stop(): Promise<void>;
};

/** What a file waits for before its next step. */
type Rest = { readonly rest: Promise<unknown> };

/** While one waits for the store, the other goes on. */
const WORKERS = 2;
/** What may be stored at the same time: ten times its bytes are in memory. Many small files go into one insert. */
const MAX_STORING = { pieces: 100, bytes: 4 * 1024 * 1024 };
/** A line is seen within a second; after a failure a file rests for five. */
const PACE: Pace = { hotMs: 500, scanMs: 2_000, flushMs: 1_000, pauseMs: 5_000 };
/** How long a file rests that no format knows. */
const UNKNOWN_PAUSE_MS = 60_000;
const IDLE_MS = 100;

/**
 * Follows files by polling, as network file systems send no notifications. A piece of a file is stored
 * before the position after it, so that a process that is killed reads some records again, which have the same ids.
 */
export async function startFollower(options: FollowerOptions): Promise<Follower> {
  const { targets, positions, now, log, pace = PACE } = options;
  const stopping = new AbortController();
  const known = createKnownContents(await positions.read());
  const tracked = new Map<string, TrackedFile>();
  const unwritten = new Map<string, FollowedFile>();
  const storing = new Map<Promise<void>, number>();
  const isFull = () =>
    storing.size >= MAX_STORING.pieces ||
    [...storing.values()].reduce((sum, bytes) => sum + bytes, 0) >= MAX_STORING.bytes;
  const failing = new Set<TrackedFile>();
  const finishing = new Set<Promise<void>>();

  const change = (one: TrackedFile, changed: Partial<FollowedFile>) => {
    one.file = { ...one.file, ...changed, updatedAt: Math.max(now(), one.file.updatedAt + 1) };
    known.set(one.file);
    unwritten.set(one.file.id, one.file);
  };
  const close = async (one: TrackedFile) => {
    const { content } = one;
    [one.reading, one.content] = [undefined, undefined];
    await content?.close();
  };
  const forget = async (one: TrackedFile, changed: Partial<FollowedFile>) => {
    await one.storing.catch(() => {});
    const key = placeKey(one.file);
    change(one, changed);
    if (tracked.get(key) === one) tracked.delete(key);
    await close(one);
  };
  /** Other content lies there now: what was read is known by its beginning alone. */
  const retire = (one: TrackedFile) => forget(one, { device: "", inode: "", state: "gone" });
  const scanner = openScanner({ targets, tracked, known, retire, now, log });

  const fail = async (one: TrackedFile, error: unknown) => {
    const detail = error instanceof Error ? error.message : String(error);
    if (!failing.has(one) && !stopping.signal.aborted)
      log.warn({ err: error, path: one.file.path }, "reading or storing a followed file failed, retrying");
    failing.add(one);
    [one.pausedUntil, one.storing, one.failure] = [performance.now() + pace.pauseMs, Promise.resolve(), undefined];
    one.nothingAt = undefined;
    change(one, { state: "waiting", detail });
    // What is open stays readable when the file is removed. Only a packed one cannot be read from an earlier position.
    if (one.file.isPacked) await close(one).catch(() => {});
    else one.reading = undefined;
  };

  const save = async (one: TrackedFile, piece: FollowedPiece): Promise<Rest> => {
    if (piece.lacksTimes || options.isForwarding) {
      await one.storing;
      change(one, piece.lacksTimes ? { resume: piece.resume } : {});
      await positions.write([one.file]);
    }
    const { prepared, stored } = options.store(piece);
    const before = one.storing;
    const { reading } = one;
    const done = (async () => {
      await Promise.all([before, stored]);
      if (failing.delete(one)) log.info({ path: one.file.path }, "a followed file is read again");
      const lastRecordAt = piece.records.length > 0 ? now() : one.file.lastRecordAt;
      change(one, { ...piece.after, lastRecordAt, state: "following", detail: "" });
    })();
    one.storing = done;
    const settled: Promise<void> = done
      .catch(async (error: unknown) => {
        if (one.reading !== reading) return;
        if (one.isBusy) one.failure ??= error;
        else await fail(one, error);
      })
      .finally(() => storing.delete(settled));
    storing.set(settled, piece.after.position - piece.file.position);
    return { rest: piece.lacksTimes ? settled : prepared };
  };

  const step = async (one: TrackedFile): Promise<Rest | undefined> => {
    one.content ??= one.file.isPacked ? openPacked(one.file.path) : await openPlain(one.file.path);
    one.reading ??= await openReading(one.file, { ...options, target: one.target, content: one.content });
    const { size, modifiedAt } = one.file;
    const isEnd = isFinished(one, now());
    const isSame = isUnchanged(one);
    const isWhole = !isEnd && isSame && isQuiet(one) && (await endsWithObject(one.content, one.reading.position()));
    const result = await one.reading.next(isEnd || isWhole).catch(async (error: unknown) => {
      await close(one).catch(() => {});
      throw error;
    });
    if ("piece" in result) {
      one.nothingAt = undefined;
      return save(one, result.piece);
    }
    if ("replaced" in result) {
      await retire(one);
      return undefined;
    }
    one.nothingAt = { size, modifiedAt, isEnd: isEnd || isSame };
    if ("unknown" in result) {
      if (one.file.state !== "unknown-format")
        log.warn({ path: one.file.path, format: one.file.format }, `not reading a file: ${UNKNOWN}`);
      one.pausedUntil = performance.now() + UNKNOWN_PAUSE_MS;
      change(one, { state: "unknown-format", detail: UNKNOWN });
      await close(one);
      return undefined;
    }
    if (one.file.isPacked) {
      return { rest: one.storing.then(() => change(one, { resume: { ...one.file.resume, isComplete: true } })) };
    }
    if (!isKeptOpen(one, now())) await close(one);
    return undefined;
  };

  const pick = (turn: number): TrackedFile | undefined => {
    const due = [...tracked.values()].filter((one) => isDue(one, now()));
    // What is written now must not wait for the history, and the oldest history comes first.
    const order = (one: TrackedFile) => (turn % 2 === 0 ? one.file.size - readingAt(one) : one.file.modifiedAt);
    return due.reduce<TrackedFile | undefined>(
      (best, one) => (best && order(best) <= order(one) ? best : one),
      undefined,
    );
  };
  const finish = async (one: TrackedFile, rest: Promise<unknown> | undefined) => {
    await rest?.catch((error: unknown) => {
      one.failure ??= error;
    });
    one.isBusy = false;
    if (one.failure !== undefined) await fail(one, one.failure);
    else if (one.file.resume.isComplete) await close(one);
  };
  const work = async () => {
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      while (isFull()) await Promise.race(storing.keys());
      const one = pick(turn);
      if (one === undefined) {
        await sleep(IDLE_MS, undefined, { signal: stopping.signal }).catch(() => {});
        continue;
      }
      one.isBusy = true;
      // Another file is read while this one waits for what its records need from the store.
      const { rest } = (await step(one).catch((error: unknown) => ({ rest: Promise.reject(error) }))) ?? {};
      const ended: Promise<void> = finish(one, rest).finally(() => finishing.delete(ended));
      finishing.add(ended);
    }
  };

  /** Files to which no path leads any more, once they are read to their end. */
  const forgetGone = async () => {
    for (const one of tracked.values()) {
      const isResting = one.isBusy || performance.now() < one.pausedUntil;
      if (one.isPresent || isResting || !isFinished(one, now())) continue;
      if (one.content === undefined || !isDue(one, now())) await forget(one, { state: "gone" });
    }
  };
  const flush = async () => {
    const files = [...unwritten.values()];
    if (files.length === 0) return;
    unwritten.clear();
    try {
      await positions.write(files);
    } catch (error) {
      for (const file of files) if (!unwritten.has(file.id)) unwritten.set(file.id, file);
      throw error;
    }
  };
  /** The table forgets positions that were not written for a hundred days. */
  const keep = async () => {
    for (const one of tracked.values()) change(one, {});
  };
  const repeat = (act: () => Promise<void>, everyMs: number, what: string) =>
    repeatEvery(act, {
      everyMs,
      onError: (error) => log.warn({ err: error }, `${what} failed, retrying`),
      onRecovery: () => log.info(`${what} works again`),
    });

  await scanner.scanAll();
  const loops = [
    repeat(scanner.scanHot, pace.hotMs, "looking at followed files"),
    repeat(
      async () => {
        await scanner.scanAll();
        await forgetGone();
      },
      pace.scanMs,
      "looking for files to follow",
    ),
    repeat(flush, pace.flushMs, "storing the positions of followed files"),
    repeat(keep, DAY_MS, "keeping positions"),
  ];
  const workers = Array.from({ length: WORKERS }, work);
  return {
    files: () => [...[...tracked.values()].map(({ file }) => file), ...scanner.problems().map(asFile)],
    async stop() {
      stopping.abort();
      await Promise.all(workers);
      await Promise.all(loops.map(({ stop }) => stop()));
      await Promise.all([...finishing, ...storing.keys()]);
      await flush();
      await Promise.all([...tracked.values()].map(close));
    },
  };
}

const UNKNOWN =
  'no format knows its first records: name the format ("cowrie:path"), or see "noisefloor formats test" for a field map';

const asFile = ({ path, target, size, state, detail, isCopy }: Problem): FollowedFile => ({
  ...newFile({
    path,
    target,
    size,
    head: Buffer.alloc(0),
    isPacked: false,
    modifiedAt: 0,
    place: { device: "", inode: "" },
  }),
  id: `path ${path}`,
  position: isCopy ? size : 0,
  state,
  detail,
});
