import { formatAge } from "../diagnosis/measures.ts";
import { type Progress, progressBar } from "../framework/progress.ts";

/** A bar over the bytes of some files, with the number of the file and the time left. */
export function fileProgress(label: string, files: readonly { readonly bytes: number }[], isShown: boolean): Progress {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const which = (done: number) => {
    let [index, end] = [0, files[0]?.bytes ?? 0];
    while (end <= done && index + 1 < files.length) end += files[++index]?.bytes ?? 0;
    return `file ${index + 1} of ${files.length}`;
  };
  return withTimeLeft(progressBar(label, total, isShown), total, which);
}

/** Adds to a bar's notes where it is, and how long the rest takes if it is as fast. */
export function withTimeLeft(bar: Progress, total: number, where: (done: number) => string): Progress {
  const startedAt = Date.now();
  let done = 0;
  return {
    ...bar,
    advance(units) {
      done += units;
      bar.advance(units);
    },
    note(text) {
      const leftMs = done === 0 ? undefined : ((Date.now() - startedAt) * Math.max(0, total - done)) / done;
      bar.note([text, where(done), ...(leftMs === undefined ? [] : [`${formatAge(leftMs)} left`])].join(", "));
    },
  };
}
