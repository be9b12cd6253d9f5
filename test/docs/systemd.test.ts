import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { ROOT, readText } from "./documents.ts";
import { parseCommands } from "./parse-commands.ts";

const FOLDER = "infra/systemd";

/** The values of a unit's setting, as systemd reads them: `$$` and `%%` stand for one character. */
async function valuesOf(unit: string, setting: string): Promise<string[]> {
  const lines = (await readText(`${FOLDER}/${unit}`)).split("\n").filter((line) => line.startsWith(`${setting}=`));
  return lines.map((line) =>
    line
      .slice(setting.length + 1)
      .replaceAll("$$", "$")
      .replaceAll("%%", "%"),
  );
}

const SERVICES = ["noisefloor.service", "noisefloor-backup.service"];

test("the units run commands that there are, from a file that is there", async () => {
  const calls = (await Promise.all(SERVICES.map((unit) => valuesOf(unit, "ExecStart")))).flat();
  const parsed = calls.map((call) => /(services\/cli\/bin\/noisefloor\.js) (\w.*?)'?$/.exec(call)?.slice(1) ?? []);
  expect(parsed.map(([file]) => file)).toEqual(SERVICES.map(() => "services/cli/bin/noisefloor.js"));
  expect(await readdir(`${ROOT}services/cli/bin`)).toContain("noisefloor.js");
  const { problems } = await parseCommands(
    parsed.map(([, args = ""]) => args.replace(/\$\([^)]*\)/, "DATE").split(" ")),
  );
  expect(problems).toEqual(SERVICES.map(() => ""));
}, 60_000);

test("both services have the same user, folders and restrictions", async () => {
  const restrictions = async (unit: string) => {
    const lines = (await readText(`${FOLDER}/${unit}`)).split("\n");
    const same =
      /^(?:User|StateDirectory|UMask|Environment|No|Capability|Protect|Private|Restrict|Remove|Lock|SystemCall)/;
    return lines.filter((line) => same.test(line)).toSorted();
  };
  const [service, backup] = await Promise.all(SERVICES.map(restrictions));
  expect(backup).toEqual(service);
  expect(service).toEqual(expect.arrayContaining(["ProtectSystem=strict", "NoNewPrivileges=true"]));
});
