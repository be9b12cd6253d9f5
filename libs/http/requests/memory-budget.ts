/** One request's part of a memory budget. It lasts until its last holder releases it. */
export type Reservation = {
  /** Reserves more bytes; false when they exceed what is left, or when the reservation has no holder. */
  grow(bytes: number): boolean;
  /** Adds a holder. @returns its release function; only the first call counts. */
  hold(): () => void;
};

/** Bounds the memory of the open requests, in total and per sender. */
export type MemoryBudget = {
  /** Whether the sender could reserve the bytes now. */
  hasSpace(bytes: number, sender: string): boolean;
  /** An empty reservation without a holder. */
  reserve(sender: string): Reservation;
};

/**
 * A sender may reserve as much as it leaves to others: half of the budget, or half of what is left of it. So neither
 * one sender nor a few together can shut out the others. A request always fits while there is no other.
 */
export function memoryBudget(bytes: number): MemoryBudget {
  let reserved = 0;
  const reservedBy = new Map<string, number>();
  const hasSpace = (wanted: number, own: number, sender: string) =>
    reserved === own || (reservedBy.get(sender) ?? 0) + wanted <= bytes - reserved - wanted;
  const add = (sender: string, more: number) => {
    reserved += more;
    const bySender = (reservedBy.get(sender) ?? 0) + more;
    if (bySender === 0) reservedBy.delete(sender);
    else reservedBy.set(sender, bySender);
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
          let isReleased = false;
          return () => {
            if (isReleased) return;
            isReleased = true;
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
