import { expect, test } from "vitest";
import type { Scanner, Service } from "../../api/operations.ts";
import { verdictOf } from "./verdict.ts";

const service: Service = {
  found: false,
  category: "",
  name: "",
  description: "",
  explanation: "",
  last_updated: "",
  reference: "",
  trust_level: "",
};
const scanner: Scanner = {
  found: false,
  first_seen: "",
  last_seen: "",
  actor: "",
  spoofable: false,
  classification: "",
  bot: false,
  vpn: false,
  vpn_service: "",
  tor: false,
  metadata: {},
  raw_data: {},
  last_seen_timestamp: "",
  tags: [],
  cves: [],
};
const dns = { ...service, found: true, name: "Some DNS" };
const seen = { ...scanner, found: true, actor: "unknown" };

test("a verdict says what the address is: noise, a service, both or neither", () => {
  expect(verdictOf(scanner, service).verdict).toBe("not seen");
  expect(verdictOf(scanner, dns)).toEqual({ verdict: "benign", sentence: expect.stringContaining("Some DNS") });
  const malicious = verdictOf({ ...seen, classification: "malicious" }, service);
  expect(malicious).toEqual({ verdict: "malicious", sentence: expect.stringContaining("attacking") });
  const both = verdictOf({ ...seen, classification: "suspicious" }, dns);
  expect(both).toEqual({ verdict: "suspicious", sentence: expect.stringMatching(/scans .*also .*Some DNS/) });
  const actor = verdictOf({ ...seen, classification: "benign", actor: "Survey\u202e" }, service);
  expect(actor).toEqual({ verdict: "benign", sentence: expect.stringContaining("Survey\\u{202e}") });
  const attacker = verdictOf({ ...seen, classification: "malicious", actor: "Survey" }, service);
  expect(attacker).toEqual({ verdict: "malicious", sentence: expect.stringMatching(/Survey, .* but .* logged in/) });
});
