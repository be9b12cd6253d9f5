/**
 * The volume of the long tests: `npm test` uses the small numbers, `npm run test:full` the large ones.
 * The environment variable TEST_VOLUME is read here alone.
 */
export const IS_FULL = process.env.TEST_VOLUME === "full";

/** @returns the large number in `npm run test:full`. */
export function atVolume<T>(small: T, full: T): T {
  return IS_FULL ? full : small;
}
