import { diagnose } from "../../diagnosis/checks/checks.ts";
import { type Severity, worstOf } from "../../diagnosis/checks/finding.ts";
import { gatherFacts } from "../../diagnosis/probes/gather.ts";
import type { CommandContext } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";

const HELP = `
Exit code: 0 when all is well, 1 with warnings, 2 with failures. It starts nothing, changes nothing, and answers within two
seconds also when ClickHouse or the brokers are away.`;

export const define: DefineCommand = (doctor, createContext) => {
  doctor.addHelpText("after", HELP).action(async (options: OutputOptions) => runDoctor(options, await createContext()));
};

const EXIT_CODES: Readonly<Record<Severity, number>> = { ok: 0, unknown: 0, warning: 1, failure: 2 };
const MARKS: Readonly<Record<Severity, string>> = { ok: "ok", unknown: "?", warning: "WARN", failure: "FAIL" };

/** `noisefloor doctor`. */
export async function runDoctor(options: OutputOptions, { settings, print }: CommandContext): Promise<void> {
  const findings = diagnose(await gatherFacts(settings));
  const worst = worstOf(findings);
  process.exitCode = EXIT_CODES[worst];
  if (options.json) {
    print(
      JSON.stringify({ state: worst, checks: findings.map(({ remedy = null, ...rest }) => ({ ...rest, remedy })) }),
    );
    return;
  }
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const { check, severity, text, remedy } of findings) {
    print(`${MARKS[severity].padEnd(4)}  ${check.padEnd(width)}  ${printable(text)}`);
    if (remedy !== undefined) print(`${" ".repeat(width + 8)}-> ${remedy}`);
  }
}
