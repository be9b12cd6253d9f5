import { randomUUID } from "node:crypto";
import type { FollowedFile } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { DAY_MS, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { Content } from "../content/content.ts";
import { fingerprintOf } from "../content/fingerprint.ts";
import type { Reading } from "../content/reading.ts";
import type { Place } from "./known-contents.ts";
import type { FollowTarget } from "./targets.ts";

/** By which a file is known to be as it was. */
type FileState = Pick<FollowedFile, "size" | "modifiedAt">;

/** A file that is followed now. */
export type TrackedFile = {
  /** As it is stored, or will be in a moment. */
  file: FollowedFile;
  readonly target: FollowTarget;
  /** Whether a path leads to it. Without one, what is open is read to its end. */
  isPresent: boolean;
  /** When its size or time was last seen to change, in milliseconds of `performance.now()`. */
  changedAt: number;
  content: Content | undefined;
  reading: Reading | undefined;
  /** A step is under way. */
  isBusy: boolean;
  /** Why what was read could not be stored, while a step is under way: nothing read in it counts. */
  failure: unknown;
  /** As it was when a step found no whole record, and whether that was tried as its end. */
  nothingAt: (FileState & { readonly isEnd: boolean }) | undefined;
  /** Resolves when all that was read is stored. */
  storing: Promise<void>;
  /** What failed last: until then it rests, in milliseconds of `performance.now()`. */
  pausedUntil: number;
};

export type NewFileOptions = {
  readonly path: string;
  readonly place: Place;
  readonly target: Pick<FollowTarget, "sensor" | "format">;
  readonly head: Buffer;
  readonly isPacked: boolean;
  readonly size: number;
  readonly modifiedAt: number;
  /** What was read furthest of those that it may be a copy of: it is read on from there. */
  readonly copyOf?: FollowedFile | undefined;
};

export function newFile({ path, place, target, head, copyOf, ...given }: NewFileOptions): FollowedFile {
  return {
    ...given,
    ...place,
    ...fingerprintOf(head),
    id: randomUUID(),
    path,
    sensor: target.sensor ?? "",
    format: target.format,
    position: copyOf?.position ?? 0,
    resume: {
      ...(copyOf?.resume ?? { records: 0, hasOrdinals: false, cut: NOT_CUT }),
      isComplete: false,
    },
    state: "following",
    detail: "",
    lastRecordAt: copyOf?.lastRecordAt ?? 0,
    updatedAt: 0,
  };
}

const NOT_CUT = { isInArray: false, isClosing: false, isDropping: false };

export function track(file: FollowedFile, target: FollowTarget): TrackedFile {
  return {
    ...{
      file,
      target,
      isPresent: true,
      changedAt: performance.now(),
      isBusy: false,
      failure: undefined,
      pausedUntil: 0,
    },
    ...{ content: undefined, reading: undefined, nothingAt: undefined, storing: Promise.resolve() },
  };
}

/** Writers that are told to write elsewhere need a moment. */
const DETACHED_MS = 10_000;
/** A line may be written in two parts, the second when a buffer is full. */
const QUIET_MS = 2_000;
/** After a day, no program is expected to finish a line. */
const FINISHED_MS = DAY_MS;
/** A file that was written lately is kept open, so that its end can be read also once it is renamed or removed. */
const OPEN_MS = DAY_MS;
const HOT_MS = HOUR_MS;

const unchangedMs = ({ changedAt }: TrackedFile) => performance.now() - changedAt;

/** Whether it is to be looked at often. */
export const isHot = (tracked: TrackedFile) => unchangedMs(tracked) < HOT_MS || !tracked.isPresent;

export const isKeptOpen = ({ file }: TrackedFile, now: number) => !file.isPacked && file.modifiedAt > now - OPEN_MS;

/** Whether no program is expected to write to it any more. */
export const isFinished = (tracked: TrackedFile, now: number): boolean =>
  tracked.file.isPacked ||
  (!tracked.isPresent && unchangedMs(tracked) > DETACHED_MS) ||
  (tracked.file.modifiedAt < now - FINISHED_MS && unchangedMs(tracked) > QUIET_MS);

/** Whether what stands at its end without an end of line has been there for long enough to be looked at. */
export const isQuiet = (tracked: TrackedFile): boolean => unchangedMs(tracked) > QUIET_MS;

/** Where reading goes on. */
export const readingAt = ({ file, reading }: TrackedFile): number => reading?.position() ?? file.position;

/** Whether nothing was written since a step found no whole record. */
export const isUnchanged = ({ file, nothingAt }: TrackedFile): boolean =>
  nothingAt?.size === file.size && nothingAt.modifiedAt === file.modifiedAt;

/** Whether a step may find something: also that other content lies there now. */
export function isDue(tracked: TrackedFile, now: number): boolean {
  const { file, isBusy, pausedUntil, nothingAt } = tracked;
  if (isBusy || performance.now() < pausedUntil) return false;
  if (file.isPacked) return !file.resume.isComplete;
  if (!isUnchanged(tracked)) return true;
  const mayEnd = isFinished(tracked, now) || isQuiet(tracked);
  return mayEnd && nothingAt?.isEnd === false && file.size > readingAt(tracked) && file.state !== "unknown-format";
}
