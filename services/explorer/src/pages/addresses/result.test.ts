import { expect, test } from "vitest";
import { toCsv, toResults, worstFirst } from "./result.ts";

const context = (ip: string, classification: "malicious" | "benign" | "", trust = "") => ({
  ip,
  business_service_intelligence: { found: trust !== "", trust_level: trust },
  internet_scanner_intelligence: { found: classification !== "", classification },
});

test("every address of a list has its line, known or not, the worst first", () => {
  const found = [context("45.0.0.3", "", "1"), context("45.0.0.2", "malicious"), context("45.0.0.4", "malicious", "2")];
  const results = worstFirst(toResults(["45.0.0.1", "45.0.0.2", "45.0.0.3", "45.0.0.4"], found));
  expect(toCsv(results).split("\r\n")).toEqual([
    "ip,verdict,seen_scanning,benign_service,trust_level,last_seen,tags,asn,organization",
    "45.0.0.2,malicious,true,false,,,,,",
    "45.0.0.4,malicious,true,true,2,,,,",
    "45.0.0.3,benign,false,true,1,,,,",
    "45.0.0.1,not seen,false,false,,,,,",
    "",
  ]);
});
