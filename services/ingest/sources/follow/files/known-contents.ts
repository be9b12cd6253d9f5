import type { FollowedFile } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { fingerprintOf, hasFingerprint, isTelling } from "../content/fingerprint.ts";

/** Where a content lies: it moves with a renamed file. */
export type Place = Pick<FollowedFile, "device" | "inode">;

/** What is known of contents, of those that lie nowhere any more, too. */
export type KnownContents = {
  /** The content that is known to lie there, if it still begins as it did. */
  at(place: Place, head: Buffer): FollowedFile | undefined;
  /** Whether any content is known to lie there. */
  has(place: Place): boolean;
  /** Those of which a content with this beginning may be a copy, the one that was read furthest first. */
  copiesOf(head: Buffer): readonly FollowedFile[];
  set(file: FollowedFile): void;
};

export const placeKey = ({ device, inode }: Place): string => `${device}:${inode}`;

export function createKnownContents(stored: readonly FollowedFile[]): KnownContents {
  const byId = new Map<string, FollowedFile>();
  // An entry may be out of date: what it leads to is compared.
  const idsByPlace = new Map<string, string>();
  const idsByHead = new Map<string, Set<string>>();
  const set = (file: FollowedFile) => {
    byId.set(file.id, file);
    if (file.inode !== "") idsByPlace.set(placeKey(file), file.id);
    if (!isTelling(file)) return;
    const ids = idsByHead.get(file.head) ?? new Set();
    idsByHead.set(file.head, ids.add(file.id));
  };
  for (const file of stored) set(file);
  return {
    set,
    has: (place) => idsByPlace.has(placeKey(place)),
    at(place, head) {
      const file = byId.get(idsByPlace.get(placeKey(place)) ?? "");
      return file !== undefined && placeKey(file) === placeKey(place) && hasFingerprint(head, file) ? file : undefined;
    },
    copiesOf(head) {
      const ids = [...(idsByHead.get(fingerprintOf(head).head) ?? [])];
      const files = ids.flatMap((id) => byId.get(id) ?? []);
      return files.filter((file) => hasFingerprint(head, file)).sort((one, other) => other.position - one.position);
    },
  };
}
