/** What one request has taken of a budget. It keeps it for as long as anybody holds the reservation. */
export type Reservation = {
  /** Takes so many bytes more; false when there are not so many left, or nobody holds the reservation any more. */
  grow(bytes: number): boolean;
  /** @returns what lets go again, however often it is called. */
  hold(): () => void;
};

/** Bounds what requests under way take in memory, all together and those of each sender. */
export type MemoryBudget = {
  /** Would so many bytes of this sender fit now? */
  hasSpace(bytes: number, sender: string): boolean;
  /** A reservation of nothing yet, which nobody holds yet. */
  reserve(sender: string): Reservation;
};

/**
 * A sender may take as much as it leaves to others: half of the budget, or of what those before it have left. So neither
 * one sender nor a few together can shut the others out. A request always fits while there is no other.
 */
export function memoryBudget(bytes: number): MemoryBudget {
  let taken = 0;
  const takenBy = new Map<string, number>();
  const hasSpace = (wanted: number, own: number, sender: string) =>
    taken === own || (takenBy.get(sender) ?? 0) + wanted <= bytes - taken - wanted;
  const add = (sender: string, more: number) => {
    taken += more;
    const its = (takenBy.get(sender) ?? 0) + more;
    if (its === 0) takenBy.delete(sender);
    else takenBy.set(sender, its);
  };
  return {
    hasSpace: (wanted, sender) => hasSpace(wanted, 0, sender),
    reserve(sender) {
      let own = 0;
      let holders = 0;
      return {
        grow(more) {
          if (holders === 0 || !hasSpace(more, own, sender)) return false;
          add(sender, more);
          own += more;
          return true;
        },
        hold() {
          holders++;
          let hasLetGo = false;
          return () => {
            if (hasLetGo) return;
            hasLetGo = true;
            holders--;
            if (holders > 0) return;
            add(sender, -own);
            own = 0;
          };
        },
      };
    },
  };
}
