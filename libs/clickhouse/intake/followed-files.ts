import { z } from "zod";
import { defineStates } from "../records/define-states.ts";

/** What becomes of a file; `detail` says why. */
export const SHOWN_STATES = ["following", "waiting", "unreadable", "unknown-format"] as const;
/** No path leads to it any more. */
const GONE = "gone";

/** What a later process needs to read on from the position, as the process before would have. */
const resumeSchema = z.object({
  /** The position is inside a JSON array, behind one, or in the rest of a line that was too long. */
  cut: z
    .object({ isInArray: z.boolean(), isClosing: z.boolean(), isDropping: z.boolean() })
    .default({ isInArray: false, isClosing: false, isDropping: false }),
  /** The number of records before the position. */
  records: z.int().default(0),
  /** Where the header that holds for the next line begins: that of CSV, or Zeek's. */
  headerAt: z.int().optional(),
  /** Records before the position were counted among equal ones. */
  hasOrdinals: z.boolean().default(false),
  /** Up to `to` the records have no time of their own and count as of `at`: the same when they are read again. */
  again: z.object({ to: z.int(), at: z.int() }).optional(),
  /** A packed file was read to its end. */
  isComplete: z.boolean().default(false),
});
export type Resume = z.output<typeof resumeSchema>;

export const followedFileSchema = z.object({
  /** Of the content: a file that is truncated and written anew gets another one. */
  id: z.string(),
  path: z.string(),
  /** Empty where the records say it. */
  sensor: z.string(),
  format: z.string(),
  /** Where the content lies; both empty once it was truncated or replaced there. */
  device: z.string(),
  inode: z.string(),
  /** The digest of the first `headBytes` bytes of the content, unpacked. */
  headBytes: z.int(),
  head: z.string(),
  /** Bytes on disk. */
  size: z.int(),
  isPacked: z.boolean(),
  /** Up to here everything is stored: bytes of the content, unpacked. */
  position: z.int(),
  resume: z
    .string()
    .transform((text) => resumeSchema.parse(JSON.parse(text)))
    .or(resumeSchema),
  state: z.enum([...SHOWN_STATES, GONE]),
  detail: z.string(),
  /** When the newest record was stored; 0 before the first. Milliseconds since 1970 UTC, as the next two. */
  lastRecordAt: z.int(),
  modifiedAt: z.int(),
  updatedAt: z.int(),
});
/** A file that is or was followed. */
export type FollowedFile = z.output<typeof followedFileSchema>;

const states = defineStates({ table: "followed_files", row: followedFileSchema, id: "id", orderBy: "record.path" });

export const followedFiles = {
  ...states,
  write: (client: Parameters<typeof states.write>[0], files: readonly FollowedFile[]) =>
    states.write(
      client,
      files.map((file) => ({ ...file, resume: JSON.stringify(file.resume) })),
    ),
};

/** How many bytes of a file are not stored yet. Of a packed one the size on disk, as nothing says how many it holds. */
export function lagOf({ isPacked, resume, size, position }: FollowedFile): number {
  if (isPacked) return resume.isComplete ? 0 : size;
  return Math.max(0, size - position);
}
