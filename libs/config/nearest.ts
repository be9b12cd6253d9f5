import { editDistance } from "@noisefloor/domain/text/edit-distance.ts";

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
