import type { Line } from "./line.ts";
import type { Measured } from "./part.ts";

/** Measures questions one after the other. One that fails is named with its error, and the others are measured. */
export async function measureEach(
  questions: Readonly<Record<string, () => Promise<readonly Line[]>>>,
  say: (name: string) => void,
): Promise<Required<Pick<Measured, "lines" | "failures">>> {
  const lines: Line[] = [];
  const failures: string[] = [];
  for (const [name, measure] of Object.entries(questions)) {
    say(name);
    try {
      lines.push(...(await measure()));
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { lines, failures };
}
