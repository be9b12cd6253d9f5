import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readTpotHostname, readTpotOwnAddresses } from "./own-addresses.ts";

/** A data folder of T-Pot with these files. */
async function dataFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-tpot-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const ENVIRONMENT = "tpot/etc/compose/elk_environment";

test("T-Pot's own addresses and its host's name are what it tells its Logstash and its reports", async () => {
  const folder = await dataFolder({
    [ENVIRONMENT]: "HONEY_UUID=6f1e\nMY_EXTIP=198.51.100.7\nMY_INTIP=10.0.0.5\nMY_HOSTNAME=lively-otter\n",
    "ews/conf/ews.ip": "[MAIN]\nip = 198.51.100.8\n",
  });
  expect(await readTpotOwnAddresses(folder)).toEqual(["198.51.100.7", "10.0.0.5", "198.51.100.8"]);
  expect(await readTpotHostname(folder)).toBe("lively-otter");
});

test("where T-Pot has not started yet there are none, and no error", async () => {
  const folder = await dataFolder({});
  expect(await readTpotOwnAddresses(folder)).toEqual([]);
  expect(await readTpotHostname(folder)).toBeUndefined();
});

test("an address that T-Pot did not find out is none", async () => {
  const folder = await dataFolder({ [ENVIRONMENT]: "MY_EXTIP=\nMY_INTIP=;; communications error\nMY_HOSTNAME=\n" });
  expect(await readTpotOwnAddresses(folder)).toEqual([]);
  expect(await readTpotHostname(folder)).toBeUndefined();
});
