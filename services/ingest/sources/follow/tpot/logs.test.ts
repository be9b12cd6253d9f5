import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TPOT_FILES } from "../../../../../test/support/builders/tpot-lines.ts";
import { readAs } from "../../../../../test/support/ingest/field-maps.ts";
import { findFormats } from "../../../formats/all.ts";
import { isFields } from "../../../formats/fields.ts";
import { TPOT_LOGS, TPOT_VERSION } from "./logs.ts";

/**
 * The inputs of T-Pot's own Logstash below its data folder, and the type that it gives their records: T-Pot 24.04.1,
 * as of 4 August 2026 (telekom-security/tpotce, docker/elk/logstash/dist/logstash.conf).
 */
const LOGSTASH_INPUTS: readonly (readonly [type: string, path: string])[] = [
  ["Fatt", "fatt/log/fatt.log"],
  ["Suricata", "suricata/log/eve.json"],
  ["P0f", "p0f/log/p0f.json"],
  ["Adbhoney", "adbhoney/log/adbhoney.json"],
  ["Beelzebub", "beelzebub/log/beelzebub.json"],
  ["Ciscoasa", "ciscoasa/log/ciscoasa.log"],
  ["CitrixHoneypot", "citrixhoneypot/log/server.log"],
  ["ConPot", "conpot/log/*.json"],
  ["Cowrie", "cowrie/log/cowrie.json"],
  ["Dionaea", "dionaea/log/dionaea.json"],
  ["Dicompot", "dicompot/log/dicompot.log"],
  ["Ddospot", "ddospot/log/*.log"],
  ["ElasticPot", "elasticpot/log/elasticpot.json"],
  ["RDPHoneypot", "rdphoneypot/log/rdphoneypot.json"],
  ["Endlessh", "endlessh/log/endlessh.log"],
  ["Galah", "galah/log/galah.json"],
  ["Glutton", "glutton/log/glutton.log"],
  ["Go-pot", "go-pot/log/go-pot.json"],
  ["H0neytr4p", "h0neytr4p/log/log.json"],
  ["Hellpot", "hellpot/log/hellpot.log"],
  ["Heralding", "heralding/log/auth.csv"],
  ["Honeyaml", "honeyaml/log/honeyaml.log"],
  ["Honeypots", "honeypots/log/*.log"],
  ["Honeytrap", "honeytrap/log/attackers.json"],
  ["Ipphoney", "ipphoney/log/ipphoney.json"],
  ["Log4pot", "log4pot/log/log4pot.log"],
  ["Mailoney", "mailoney/log/commands.log"],
  ["Medpot", "medpot/log/medpot.log"],
  ["Miniprint", "miniprint/log/miniprint.json"],
  ["Redishoneypot", "redishoneypot/log/redishoneypot.log"],
  ["Sentrypeer", "sentrypeer/log/sentrypeer.json"],
  ["NGINX", "nginx/log/access.log"],
  ["Tanner", "tanner/log/tanner_report.json"],
  ["Wordpot", "wordpot/log/wordpot.log"],
];

/** The files that a pattern with asterisks matches. */
const matches = (pattern: string, path: string) =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`).test(path);
const logsOf = (path: string) => TPOT_LOGS.filter(({ pattern }) => matches(pattern, path));

test("every log that T-Pot's own Logstash reads is followed by the same name, and so are its rotated files", () => {
  expect(TPOT_LOGS.map(({ honeypot }) => honeypot).toSorted()).toEqual(
    LOGSTASH_INPUTS.map(([type]) => type).toSorted(),
  );
  for (const [type, path] of LOGSTASH_INPUTS) {
    const log = path.replace("*", "conpot_ipmi");
    for (const rotated of [log, `${log}.1`, `${log}.1.gz`, `${log}.30.gz`]) {
      // Heralding's sessions have its logins, and visits without any: one of the two files is enough.
      expect(logsOf(rotated).map(({ honeypot }) => honeypot)).toEqual(type === "Heralding" ? [] : [type]);
    }
  }
});

test.each([
  "heralding/log/auth.csv",
  "heralding/log/session.csv",
  "cowrie/log/cowrie-textlog.log",
  "conpot/log/conpot_ipmi.log",
  "dionaea/log/dionaea.sqlite",
  "honeytrap/log/attackers.log",
  "mailoney/log/mail.log",
  "nginx/log/error.log",
  "suricata/log/fast.log",
  "suricata/log/suricata.log",
  "elk/log/logstash-plain.log",
  "cowrie/log/ttylogs.tgz",
])("%s, which repeats another file or tells of no visitor, is not read", (path) => {
  expect(logsOf(path)).toEqual([]);
});

test("the documentation has a row for each log", () => {
  const documented = readFileSync(new URL("../../../../../docs/tpot.md", import.meta.url), "utf8");
  expect(documented).toContain(`T-Pot ${TPOT_VERSION}`);
  for (const { honeypot, pattern, format } of TPOT_LOGS) {
    expect(documented).toContain(`| ${honeypot} | \`${pattern.replace(/\*$/, "")}\` | \`${format}\` |`);
  }
});

const VISIT = { at: Date.parse("2026-11-20T13:07:00Z"), ip: "45.83.64.1", port: 47_110, id: "6f1e1c52a0b34fd1" };

test.each(TPOT_FILES)("a visit to $honeypot is one observation, as the honeypot itself writes it", async (file) => {
  const [log, ...others] = logsOf(file.file);
  expect([log?.honeypot, others]).toEqual([file.honeypot, []]);
  const formats = findFormats(log?.format ?? "") ?? [];
  const content = `${file.write(VISIT).join("\n")}\n`;
  const isOwnAddress = (address: string) => address === "198.51.100.7";
  const records = await readAs(content, formats, { sensorId: "hive", isOwnAddress });
  expect(records).toHaveLength(file.write(VISIT).length);
  expect(records.flatMap(({ rejection }) => rejection ?? [])).toEqual([]);
  const visits = records.flatMap(({ value }) => (isFields(value) ? [value] : []));
  const { application, port, says } = file;
  expect(Object.assign({}, ...visits)).toMatchObject({
    sensor_id: "hive",
    source_ip: VISIT.ip,
    ...(application && { application }),
    ...(port > 0 && { destination_port: port }),
    ...says,
  });
  for (const { observed_at } of visits) expect(Date.parse(String(observed_at))).toBe(VISIT.at);
  // The lines of one visit lead to one observation: by their session, or since only one of them is any.
  expect(new Set(visits.map(({ session_id, observation_id }) => session_id ?? observation_id)).size).toBe(1);
});
