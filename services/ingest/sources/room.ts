/** Bounds what is in memory at once, whoever sends it. */
export type Room = {
  /** Takes so many bytes if there is room for them; whoever gets a `leave` must call it, once. */
  enter(bytes: number): (() => void) | undefined;
};

/** @param bytes that fit in at once. A single request always fits into an empty room, however large it is. */
export function roomFor(bytes: number): Room {
  let taken = 0;
  return {
    enter(wanted) {
      if (taken > 0 && taken + wanted > bytes) return undefined;
      taken += wanted;
      let hasLeft = false;
      return () => {
        if (!hasLeft) taken -= wanted;
        hasLeft = true;
      };
    },
  };
}
