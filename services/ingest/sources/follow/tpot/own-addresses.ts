import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";

/** T-Pot writes both files anew at each start. */
const ENVIRONMENT = "tpot/etc/compose/elk_environment";
const REPORTS = "ews/conf/ews.ip";

/** The addresses of the host that runs T-Pot, by its data folder: its external and its internal one. */
export async function readTpotOwnAddresses(folder: string): Promise<string[]> {
  const [environment, reports] = await Promise.all([
    readAssignments(join(folder, ENVIRONMENT)),
    readAssignments(join(folder, REPORTS)),
  ]);
  const named = [environment.get("MY_EXTIP"), environment.get("MY_INTIP"), reports.get("ip")];
  return [...new Set(named.flatMap((address = "") => (isIP(address) === 0 ? [] : address)))];
}

/**
 * The name of the host that runs T-Pot, by its data folder; undefined where it is not there yet. T-Pot's Logstash
 * sends the same as `t-pot_hostname`, so the sensor is called alike by both ways.
 */
export async function readTpotHostname(folder: string): Promise<string | undefined> {
  return (await readAssignments(join(folder, ENVIRONMENT))).get("MY_HOSTNAME");
}

/** The lines `name=value` and `name = value` of a file; none of a file that does not exist. */
async function readAssignments(path: string): Promise<Map<string, string>> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  });
  return new Map(
    text.split("\n").flatMap((line): [string, string][] => {
      const [, name = "", value = ""] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? [];
      return name === "" ? [] : [[name, value]];
    }),
  );
}
