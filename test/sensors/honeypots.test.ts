import { dirname, join } from "node:path";
import getPort from "get-port";
import { expect, test } from "vitest";
import { installPython, runProgram } from "../support/programs.ts";
import { fromScanner, makeFolder, readLog, replayLog, SCANNER, startSensor } from "./sensor.ts";

const settingsOf = (name: string) => `[honeypot]
sensor_name = pot-1
report_public_ip = false
blacklist = 10.0.0.0/8
[output_jsonlog]
enabled = true
logfile = log/${name}.json
`;

const ASK = `
import sys, urllib.request
request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/setup.cgi", headers={"User-Agent": "probe/1"})
try:
    urllib.request.urlopen(request, timeout=30).read()
except urllib.error.HTTPError:
    pass`;

const SHELL = `
import socket, struct, sys
def message(name, first, second, data=b""):
    code = int.from_bytes(name, "little")
    return struct.pack("<6I", code, first, second, len(data), sum(data), code ^ 0xffffffff) + data
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as connection:
    connection.sendall(message(b"CNXN", 0x01000000, 4096, b"host::\\0"))
    connection.recv(4096)
    connection.sendall(message(b"OPEN", 1, 0, b"shell:id\\0"))
    connection.recv(4096)`;

test.each([
  ["elasticpot", "2.0.3", ASK, { application: "elasticsearch", port: 9200, method: "GET", path: "/setup.cgi" }],
  ["ipphoney", "2.0.2", ASK, { application: "ipp", port: 631, method: "GET", path: "/setup.cgi", agent: "probe/1" }],
  ["adbhoneypot", "3.0.2", SHELL, { application: "adb", port: 5555, commands: ["id"] }],
])("what somebody does to %s %s is stored", { timeout: 600_000 }, async (name, version, visit, expected) => {
  const python = await installPython(`${name}-${version}`, [`${name}==${version}`]);
  const port = await getPort();
  const program = join(dirname(python), name);
  const folder = await makeFolder({ "etc/honeypot.cfg": settingsOf(name), "dl/empty": "" });
  const args = ["-w", folder, "run", "-p", String(port), "-s", "pot-1"];
  await startSensor(program, args, { folder, ready: /[Ss]tarting factory/ });
  await runProgram(python, ["-c", visit, String(port)]);
  const text = await readLog(join(folder, `log/${name}.json`), /setup\.cgi|command\.input/, 1);
  const { summary, rows } = await replayLog(fromScanner(text), "auto", { PORT_REWRITES: `${port}=${expected.port}` });
  expect(summary).toMatchObject({ read: text.trim().split("\n").length, rejected: 0 });
  const contact = { source: SCANNER, sensor: "pot-1", transport: "tcp", established: true };
  expect(rows).toMatchObject([{ ...contact, ...expected }]);
});
