/**
 * How much the long tests play: `npm test` the small numbers, `npm run test:full` the same tests with the large ones.
 * The environment variable TEST_VOLUME is read here alone.
 */
const IS_FULL = process.env.TEST_VOLUME === "full";

/** @returns the large number when all of it is to be played. */
export function atVolume<T>(small: T, full: T): T {
  return IS_FULL ? full : small;
}
