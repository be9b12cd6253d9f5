import { looksLikeSensor } from "@noisefloor/domain/sensors/own-address.ts";
import { printable, shellQuote } from "../../framework/output.ts";
import type { StoreFacts } from "../probes/probe-store.ts";
import { type Finding, ok, unknown, warning } from "./finding.ts";

/** Sources that look like the sensor itself, and counts that an interrupted command has left wrong. */
export function checkObservations({ loudestSources, isStale }: StoreFacts): Finding[] {
  const findings: Finding[] = [];
  if ("value" in isStale && isStale.value) {
    findings.push(
      warning(
        "rollups",
        "a removal of observations or a reapplying of tags was interrupted, or is running: counts are as before it",
        "if it does not run, call it again, or start the intake again",
      ),
    );
  }
  const check = "own addresses";
  if ("error" in loudestSources) return [...findings, unknown(check, loudestSources.error)];
  const selfSources = loudestSources.value.filter(looksLikeSensor);
  if (selfSources.length === 0) return [...findings, ok(check, "no sensor is its own loudest source")];
  for (const { sensor, address, ofSource, observations } of selfSources) {
    const share = Math.round((ofSource / observations) * 100);
    findings.push(
      warning(
        check,
        `${address} looks like the sensor ${printable(sensor)} itself: source of ${ofSource} observations, ${share} % of its last 30 days`,
        `if it is, set OWN_ADDRESSES=${address} and run: noisefloor observations remove --address ${address} --sensor ${shellQuote(printable(sensor))}`,
      ),
    );
  }
  return findings;
}
