import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { glob } from "tinyglobby";
import { expect, onTestFinished, test } from "vitest";
import { PLAIN } from "../../../../../test/support/ingest/decode.ts";
import { arrangeTpotFolder, TPOT_HOST } from "../../../../../test/support/worlds/tpot-folder.ts";
import { findFormats } from "../../../formats/all.ts";
import { isFields } from "../../../formats/fields.ts";
import { diskFile, readFile } from "../../file/log-files.ts";
import { TPOT_LOGS } from "./logs.ts";
import { readTpotHostname, readTpotOwnAddresses } from "./own-addresses.ts";

test("a week of T-Pot's folder, rotated and packed, is every visit once and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-tpot-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { visits, lines } = await arrangeTpotFolder(folder, { until: PLAIN.now() });
  const own = await readTpotOwnAddresses(folder);
  const decode = {
    ...PLAIN,
    sensorId: await readTpotHostname(folder),
    isOwnAddress: (text: string) => own.includes(text),
  };

  let read = 0;
  const problems: string[] = [];
  const found = new Map<string, object>();
  for (const { honeypot, pattern, format } of TPOT_LOGS) {
    for (const path of await glob(pattern, { cwd: folder, absolute: true })) {
      const file = diskFile(path, await stat(path));
      for await (const { value, rejection } of readFile(file, { formats: findFormats(format) ?? [], decode })) {
        read++;
        if (rejection !== undefined) problems.push(`${path}: ${rejection.reason}`);
        if (!isFields(value)) continue;
        const key = `${honeypot} ${String(value.source_ip)} ${String(value.session_id ?? value.observation_id)}`;
        found.set(key, { honeypot, ...found.get(key), ...value });
      }
    }
  }
  expect(problems).toEqual([]);
  expect(read).toBe(lines);
  expect(found.size).toBe(visits.length);
  const byVisit = new Map([...found.values()].map((one) => [keyOf(one), one]));
  for (const { honeypot, at, ip, application, port, says } of visits) {
    expect(byVisit.get(keyOf({ honeypot, source_ip: ip, observed_at: new Date(at).toISOString() }))).toMatchObject({
      sensor_id: TPOT_HOST.name,
      ...(application && { application }),
      ...(port > 0 && { destination_port: port }),
      ...says,
    });
  }
  expect((await readdir(folder)).length).toBeGreaterThan(30);
});

function keyOf(one: object): string {
  const { honeypot, source_ip, observed_at } = { honeypot: "", source_ip: "", observed_at: "", ...one };
  return `${honeypot} ${source_ip} ${Date.parse(observed_at)}`;
}
