import { dirname, join } from "node:path";
import getPort from "get-port";
import { expect, test } from "vitest";
import { installPython, runProgram } from "../support/programs.ts";
import { fromScanner, makeFolder, readLog, replayLog, SCANNER, startSensor } from "./sensor.ts";

const START = `
import sys
from twisted.scripts.twistd import run
sys.argv = ["twistd", "-n", "--pidfile=", "-o", "-y", sys.argv[1]]
run()`;

const SCAN = `
import ftplib, http.client, socket, sys
ftp, web, redis, mysql = map(int, sys.argv[1:])
client = ftplib.FTP()
client.connect("127.0.0.1", ftp, timeout=30)
try:
    client.login("admin", "example")
except ftplib.all_errors:
    pass
client.close()
request = http.client.HTTPConnection("127.0.0.1", web, timeout=30)
request.request("GET", "/index.html", headers={"User-Agent": "probe/1"})
request.getresponse().read()
with socket.create_connection(("127.0.0.1", redis), 30) as connection:
    words = ["CONFIG", "SET", "dir", "/root/.ssh"]
    connection.sendall("".join(["*4\\r\\n", *(f"\${len(word)}\\r\\n{word}\\r\\n" for word in words)]).encode())
    connection.recv(100)
with socket.create_connection(("127.0.0.1", mysql), 30) as connection:
    connection.recv(100)`;

const LOG_IN = `
import paramiko, sys
transport = paramiko.Transport(("127.0.0.1", int(sys.argv[1])))
transport.start_client(timeout=30)
for password in ["one", "two", "three"]:
    try:
        transport.auth_password("root", password)
    except paramiko.AuthenticationException:
        pass
transport.close()`;

test("what somebody does to OpenCanary 0.9.10 is stored", { timeout: 600_000 }, async () => {
  const python = await installPython("opencanary-0.9.10", ["opencanary==0.9.10"]);
  const client = await installPython("paramiko-4.0.0", ["paramiko==4.0.0"]);
  const [ftp, http, redis, mysql] = [await getPort(), await getPort(), await getPort(), await getPort()];
  const ssh = await getPort();
  const service = (name: string, port: number, more = {}) =>
    Object.entries({ enabled: true, port, ...more }).map(([member, value]) => [`${name}.${member}`, value]);
  const settings = Object.fromEntries([
    ["device.node_id", "canary-1"],
    ["device.listen_addr", "127.0.0.1"],
    ["ip.ignorelist", []],
    ["logtype.ignorelist", []],
    ...service("ftp", ftp, { banner: "FTP server ready" }),
    ...service("http", http, { banner: "Apache/2.2.22 (Ubuntu)", skin: "nasLogin" }),
    ...service("redis", redis),
    ...service("ssh", ssh, { version: "SSH-2.0-OpenSSH_5.1p1 Debian-4" }),
    ...service("mysql", mysql, { banner: "5.5.43-0ubuntu0.14.04.1", log_connection_made: true }),
    [
      "logger",
      {
        class: "PyLogger",
        kwargs: {
          formatters: { plain: { format: "%(message)s" } },
          handlers: { file: { class: "logging.FileHandler", filename: "opencanary.log" } },
        },
      },
    ],
  ]);
  const folder = await makeFolder({ "opencanary.conf": JSON.stringify(settings) });
  const program = join(dirname(python), "opencanary.tac");
  await startSensor(python, ["-c", START, program], { folder, ready: /CanaryRedis starting on/ });
  await runProgram(python, ["-c", SCAN, ...[ftp, http, redis, mysql].map(String)]);
  await runProgram(client, ["-c", LOG_IN, String(ssh)]);
  const log = await readLog(join(folder, "opencanary.log"), /"logtype": (?:2000|3000|17001|9003|8001|4002)\b/, 7);
  const rewrites = `${ftp}=21,${http}=80,${redis}=6379,${mysql}=3306,${ssh}=22`;
  const { summary, rows } = await replayLog(fromScanner(log), "auto", { PORT_REWRITES: rewrites });
  expect(summary).toMatchObject({ read: log.trim().split("\n").length, rejected: 0 });
  const contact = { source: SCANNER, sensor: "canary-1", transport: "tcp", established: true };
  expect(rows).toMatchObject([
    { ...contact, port: 21, application: "ftp", logins: ["admin/example"], attempts: 1 },
    { ...contact, port: 80, application: "http", method: "GET", path: "/index.html", agent: "probe/1" },
    { ...contact, port: 6379, application: "redis", commands: ["CONFIG SET dir /root/.ssh"] },
    { ...contact, port: 3306, application: "mysql" },
    { ...contact, port: 22, application: "ssh", attempts: 3, logins: ["root/one", "root/two", "root/three"] },
  ]);
});
