const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** In units of 1,024, with one digit after the point, as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1_024 && unit < UNITS.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`;
}
