import { isLate } from "../probes/probe.ts";

/** How bad a finding is; the worst decides the exit code. */
export const SEVERITIES = ["ok", "unknown", "warning", "failure"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What one check came to. */
export type Finding = {
  readonly check: string;
  readonly severity: Severity;
  /** What is the case, with numbers. */
  readonly text: string;
  /** What to do about it; undefined when there is nothing to do. */
  readonly remedy?: string | undefined;
};

export const ok = (check: string, text: string): Finding => ({ check, severity: "ok", text });
export const unknown = (check: string, text: string, remedy?: string): Finding => ({
  ...{ check, severity: "unknown", text, remedy },
});
export const warning = (check: string, text: string, remedy: string): Finding => ({
  ...{ check, severity: "warning", text, remedy },
});
export const failure = (check: string, text: string, remedy: string): Finding => ({
  ...{ check, severity: "failure", text, remedy },
});

/** When a question got no answer in time, the fault that its error would otherwise mean is only possible. */
export function unlessLate(finding: Finding): Finding {
  if (!isLate(finding.text)) return finding;
  return unknown(finding.check, finding.text, "ClickHouse or this machine is busy: try again");
}

export function worstOf(findings: readonly Finding[]): Severity {
  const worst = Math.max(0, ...findings.map(({ severity }) => SEVERITIES.indexOf(severity)));
  return SEVERITIES[worst] ?? "ok";
}
