/** The name of a setting that was probably meant, if one is near enough. */
export function nearestSetting(name: string, settings: readonly string[]): string | undefined {
  const wanted = withoutPrefix(name);
  const begun = settings.find((setting) => wanted.includes("_") && setting.startsWith(wanted));
  if (begun !== undefined) return begun;
  const letters = lettersOf(wanted);
  const maxDistance = maxEdits(letters);
  // Each command compares the whole environment: the lengths alone rule most names out.
  const distances = settings
    .filter((setting) => Math.abs(lettersOf(setting).length - letters.length) <= maxDistance)
    .map((setting) => ({ setting, distance: editDistance(letters, lettersOf(setting)) }));
  const [nearest] = distances.toSorted((one, other) => one.distance - other.distance);
  return nearest !== undefined && nearest.distance <= maxDistance ? nearest.setting : undefined;
}

/** Variables of other programs that are spelled like one of ours: OpenSSL's list of trusted certificates. */
const OTHERS = new Set(["SSL_CERT_FILE"]);
const PREFIX = /^NOISEFLOOR_/;

/**
 * Finds environment variables that look like settings but are not, such as `RETENTION_DAY`.
 * @returns their names, each with the setting that was probably meant.
 */
export function findUnknownVariables(
  names: readonly string[],
  settings: readonly string[],
): { readonly name: string; readonly nearest: string | undefined }[] {
  return names
    .filter((name) => !settings.includes(name) && !OTHERS.has(name))
    .map((name) => ({ name, nearest: nearestSetting(name, settings) }))
    .filter(({ name, nearest }) => nearest !== undefined || PREFIX.test(name));
}

const withoutPrefix = (name: string) => name.toUpperCase().replace(PREFIX, "");
const lettersOf = (name: string) => name.replaceAll("_", "");

/** Short names have neighbours in every environment: `PLANS` and `PLAN`, but not `LANG`. */
function maxEdits({ length }: string): number {
  if (length >= 8) return 2;
  return length >= 5 ? 1 : 0;
}

/** How many letters to insert, delete, replace or swap with their neighbour. */
function editDistance(one: string, other: string): number {
  let [beforeLast, last]: number[][] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last?.[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last?.[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast?.[column - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last ?? [], current];
  }
  return last?.[other.length] ?? 0;
}
