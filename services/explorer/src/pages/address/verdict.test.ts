import { expect, test } from "vitest";
import type { Scanner, Service } from "../../api/operations.ts";
import { contactOf, verdictOf } from "./verdict.ts";

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
  contact: { observed_at: "", by: "", destination_port: 0, sensor: "" },
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

test("what could be forged is no attack of the address, also of a known operator, and the page says so", () => {
  const forgeable = { ...seen, spoofable: true } as const;
  const { verdict, sentence } = verdictOf({ ...forgeable, classification: "malicious" }, service);
  expect(verdict).toBe("malicious");
  expect(sentence).not.toMatch(/attack/);
  expect(sentence).toMatch(/in its name is malicious/);
  const partner = verdictOf({ ...forgeable, classification: "benign", actor: "Survey" }, service);
  expect(partner).toEqual({ verdict: "benign", sentence: "It belongs to Survey, a known operator of harmless scans." });
  expect(contactOf(forgeable)).toMatch(/could be forged: none of 0 observations completed a handshake/);
  expect(contactOf(scanner)).toBe("");
});

test("the page says when and by what contact was proven", () => {
  const contact = { observed_at: "2026-11-20T17:01:30Z", by: "login", destination_port: 22, sensor: "cellar" } as const;
  const sentence = contactOf({ ...seen, contact });
  expect(sentence).toMatch(/not forged: a login at port 22 of the sensor cellar on 2026-11-20 17:01/);
  expect(contactOf({ ...seen, contact: { ...contact, by: "connection", destination_port: 0, sensor: "" } })).toMatch(
    /not forged: a completed connection on 2026-11-20/,
  );
});
