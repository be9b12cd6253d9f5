/** For a result that an error elsewhere may keep from being awaited: Node ends for an error that has no handler. */
export function awaitedLater<T>(result: Promise<T>): Promise<T> {
  result.catch(() => {});
  return result;
}
