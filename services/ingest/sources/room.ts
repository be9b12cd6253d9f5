/** What one request takes of a room. It keeps it for as long as anybody holds the stay. */
export type Stay = {
  /** Takes so many bytes more; false when there is no room for them, or nobody holds the stay any more. */
  grow(bytes: number): boolean;
  /** @returns what lets go again, however often it is called. */
  hold(): () => void;
};

/** Bounds what is in memory at once, whoever sends it. */
export type Room = {
  /** Would so many bytes find room now? */
  hasSpace(bytes: number): boolean;
  /** A stay of nothing yet, which nobody holds yet. */
  enter(): Stay;
};

/** @param bytes that fit in at once. A single request always fits into an empty room, however large it is. */
export function roomFor(bytes: number): Room {
  let taken = 0;
  const hasSpace = (wanted: number, own: number) => taken === own || taken + wanted <= bytes;
  return {
    hasSpace: (wanted) => hasSpace(wanted, 0),
    enter() {
      let own = 0;
      let holders = 0;
      return {
        grow(more) {
          if (holders === 0 || !hasSpace(more, own)) return false;
          taken += more;
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
            taken -= own;
            own = 0;
          };
        },
      };
    },
  };
}
