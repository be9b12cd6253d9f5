import { join } from "node:path";
import getPort from "get-port";
import { expect, test } from "vitest";
import { installPython, runProgram } from "../support/programs.ts";
import { fromScanner, makeFolder, readLog, replayLog, SCANNER, startSensor } from "./sensor.ts";

const PACKAGES = ["cowrie==3.1.4", "paramiko==4.0.0"];

/** Cowrie refuses to run as root, as which containers of tests do. */
const START = `
import os, sys
os.getuid = lambda: 1000
from twisted.scripts.twistd import run
sys.argv = ["twistd", "-n", "--pidfile=", "-l", "-", "cowrie"]
run()`;

const SCAN = `
import paramiko, socket, sys
def connect(password):
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    client.connect("127.0.0.1", int(sys.argv[1]), "root", password, allow_agent=False, look_for_keys=False, timeout=30)
    return client
try:
    connect("па\\\\роль")
except paramiko.AuthenticationException:
    pass
client = connect("example")
try:
    client.exec_command("uname -a")[1].read()
except paramiko.SSHException:
    pass
client.close()
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30) as connection:
    connection.sendall(b"GET /setup.cgi HTTP/1.1\\r\\nHost: pot\\r\\n\\r\\n")
    while connection.recv(100):
        pass`;

test("what somebody does to Cowrie 3.1.4 over SSH is stored, a visit each", { timeout: 600_000 }, async () => {
  const python = await installPython("cowrie-3.1.4", PACKAGES);
  const port = await getPort({ host: "127.0.0.1" });
  const folder = await makeFolder({
    "etc/cowrie.cfg": `[honeypot]
sensor_name = pot-1
[ssh]
listen_endpoints = tcp:${port}:interface=127.0.0.1
[telnet]
enabled = false
[output_jsonlog]
enabled = true
logfile = var/log/cowrie/cowrie.json
`,
    "etc/userdb.txt": "root:x:example\n",
    "var/log/cowrie/empty": "",
    "var/run/empty": "",
    "var/lib/cowrie/downloads/empty": "",
    "var/lib/cowrie/tty/empty": "",
  });
  await startSensor(python, ["-c", START], { folder, ready: /Ready to accept SSH connections/ });
  await runProgram(python, ["-c", SCAN, String(port)]);
  const log = await readLog(join(folder, "var/log/cowrie/cowrie.json"), /session\.closed/, 3);
  const { summary, rows } = await replayLog(fromScanner(log), "auto", { PORT_REWRITES: `${port}=22` });
  expect(summary).toMatchObject({ read: log.trim().split("\n").length, rejected: 0 });
  const visit = {
    source: SCANNER,
    sensor: "pot-1",
    transport: "tcp",
    application: "ssh",
    port: 22,
    attempts: 1,
    established: true,
    banner: "SSH-2.0-paramiko_4.0.0",
    hassh: expect.stringMatching(/^[0-9a-f]{32}$/),
  };
  expect(rows).toMatchObject([
    { ...visit, logins: ["root/па\\роль"], commands: [] },
    { ...visit, logins: ["root/example"], commands: ["uname -a"] },
    { ...visit, attempts: 0, logins: [], banner: "", hassh: "", method: "GET", path: "/setup.cgi" },
  ]);
});
