import { Presets, SingleBar } from "cli-progress";

export type Progress = {
  /** Adds units that are done. */
  readonly advance: (units: number) => void;
  /** Shows a few words after the bar. */
  readonly note: (text: string) => void;
  /** Safe to call twice. */
  readonly end: () => void;
};

/** A bar on standard error if that is a terminal, else nothing. */
export function progressBar(label: string, total: number, isShown: boolean): Progress {
  if (!isShown || !process.stderr.isTTY) return { advance: () => {}, note: () => {}, end: () => {} };
  const bar = new SingleBar(
    {
      format: `${label} [{bar}] {percentage}%  {note}`,
      clearOnComplete: true,
      hideCursor: true,
      stream: process.stderr,
    },
    Presets.legacy,
  );
  bar.start(Math.max(total, 1), 0, { note: "" });
  return {
    advance: (units) => bar.increment(units),
    note: (text) => bar.update({ note: text }),
    end: () => bar.stop(),
  };
}

/** A bar for work whose total is known only while it runs. */
export function fractionBar(label: string, isShown: boolean): { show(done: number, total: number): void; end(): void } {
  const bar = progressBar(label, 1_000, isShown);
  let shown = 0;
  return {
    show(done, total) {
      const now = total === 0 ? 0 : Math.floor((done / total) * 1_000);
      if (now > shown) bar.advance(now - shown);
      shown = Math.max(shown, now);
    },
    end: bar.end,
  };
}
