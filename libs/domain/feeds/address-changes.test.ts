import { expect, test } from "vitest";
import {
  applyChanges,
  applyRevisions,
  changesBetween,
  composeChanges,
  NO_HOSTS,
  nameChangesBetween,
} from "./address-changes.ts";

const HIGH = 2 ** 32 - 1;
/** A generator whose numbers repeat often, so that lists share addresses. */
function randomLists(seed: number, count: number): Uint32Array[] {
  let state = seed;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
  return Array.from({ length: count }, () => {
    const numbers = Array.from({ length: next(40) }, () => (next(10) === 0 ? HIGH - next(3) : next(60)));
    return Uint32Array.from(new Set(numbers)).sort();
  });
}

/** A list of names, as many as there are addresses. */
const namesOf = (list: Uint32Array) => Array.from(list, (address) => `${address}.example`).sort();

test("the changes between two lists make the second of the first", () => {
  for (let seed = 0; seed < 300; seed++) {
    const [before = new Uint32Array(), after = new Uint32Array()] = randomLists(seed, 2);
    const changes = changesBetween(before, after);
    const [old, now] = [new Set(before), new Set(after)];
    expect([...changes.added]).toEqual([...after].filter((address) => !old.has(address)));
    expect([...changes.removed]).toEqual([...before].filter((address) => !now.has(address)));
    expect(applyChanges(before, [changes])).toEqual(after);
  }
});

test("many changes as one are the difference between the first list and the last", () => {
  for (let seed = 0; seed < 300; seed++) {
    const lists = randomLists(seed, 6);
    const [first = new Uint32Array(), ...later] = lists;
    const hostChanges = (before: Uint32Array, after: Uint32Array) => ({
      ...changesBetween(before, after),
      ...nameChangesBetween(namesOf(before), namesOf(after)),
    });
    const steps = later.map((list, index) => hostChanges(lists[index] ?? first, list));
    const last = lists.at(-1) ?? first;
    expect(composeChanges(steps)).toEqual(hostChanges(first, last));
    expect(applyChanges(first, steps)).toEqual(last);
    const revisions = steps.map((step, index) => ({ ...step, renewed: new Uint32Array(), revisedAt: index * 1_000 }));
    const before = { addresses: first, versions: first.map(() => 1), names: namesOf(first) };
    expect(applyRevisions(before, revisions)).toMatchObject({ addresses: last, names: namesOf(last) });
  }
});

test("an address has the version of the newest revision that names it", () => {
  for (let seed = 0; seed < 100; seed++) {
    const [before = new Uint32Array(), ...lists] = randomLists(seed, 6);
    const versions = new Map(Array.from(before, (address) => [address, 1]));
    const revisions = lists.map((list, index) => {
      // Some of the renewed are not listed.
      const renewed = list.filter((address) => address % 3 === index % 3).map((address) => address ^ 1);
      const changes = changesBetween(lists[index - 1] ?? before, list);
      for (const address of [...changes.added, ...renewed]) versions.set(address, index + 2);
      return { ...changes, addedNames: [], removedNames: [], renewed: renewed.sort(), revisedAt: (index + 2) * 1_000 };
    });
    const { addresses, versions: newest } = applyRevisions(
      { ...NO_HOSTS, addresses: before, versions: before.map(() => 1) },
      revisions,
    );
    expect(addresses).toEqual(lists.at(-1));
    expect([...newest]).toEqual(Array.from(addresses, (address) => versions.get(address)));
  }
});
