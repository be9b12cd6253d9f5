import type { RevisionStep, StoredRevision } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { versionAt } from "@noisefloor/domain/feeds/address-changes.ts";
import type { FeedState } from "./feed-state.ts";
import { pathTo } from "./history.ts";

const isSame = (one: ArrayLike<number | string>, other: ArrayLike<number | string>) =>
  one.length === other.length && Array.from(one).every((host, index) => host === other[index]);

/** Whether two revisions make the same list with the same versions. */
const isTwin = (one: StoredRevision, other: StoredRevision) =>
  one.parent === other.parent &&
  one.revisedAt === other.revisedAt &&
  isSame(one.added, other.added) &&
  isSame(one.removed, other.removed) &&
  isSame(one.renewed, other.renewed) &&
  isSame(one.addedNames, other.addedNames) &&
  isSame(one.removedNames, other.removedNames);

/**
 * The addresses of which a consumer of other revisions than those that count might take no notice: those that either name
 * since they parted, with a version that is not newer than the others'.
 * @param siblings the revisions that do not lead to the state.
 * @param revisions these, and those that lead to the state since they parted.
 * @returns whether another list is as new as the one that counts, too.
 */
export function addressesToRenew(
  state: FeedState,
  siblings: readonly RevisionStep[],
  revisions: readonly StoredRevision[],
): { readonly renewed: Uint32Array; readonly isOvertaken: boolean } {
  const path = pathTo(revisions, state.head.revision);
  const newest = new Map<number, number>();
  for (const revision of path) {
    for (const address of namesOf(revision)) newest.set(address, versionAt(revision.revisedAt));
  }
  const renewed = new Set<number>();
  let isOvertaken = false;
  for (const { revision, revisedAt, isList } of siblings) {
    const branch = pathTo(revisions, revision);
    const sibling = branch.at(-1);
    if (sibling === undefined || path.some((step) => isTwin(step, sibling))) continue;
    isOvertaken ||= isList && revisedAt >= state.head.listedAt;
    for (const step of [sibling, ...path.filter((each) => !branch.includes(each))]) {
      for (const address of namesOf(step)) {
        if ((newest.get(address) ?? 0) <= versionAt(revisedAt)) renewed.add(address);
      }
    }
  }
  return { renewed: Uint32Array.from(renewed).sort(), isOvertaken };
}

const namesOf = ({ added, removed, renewed }: StoredRevision) => [...added, ...removed, ...renewed];
