import fc from "fast-check";
import { expect, test } from "vitest";
import { readContent } from "../../../../test/support/ingest/decode.ts";
import { readPythonDict } from "./python-literal.ts";

const TAIL = "'src_ip': '45.83.64.21', 'src_port': 36936";
const AT = "'server': 'ftp_server', 'dest_ip': '0.0.0.0', 'dest_port': 21}";
const DICTS = [
  `{'action': 'process', 'status': 'success', 'src_ip': '0.0.0.0', 'src_port': 21, ${AT}`,
  `{'action': 'connection', ${TAIL}, ${AT}`,
  `{'action': 'command', 'data': {'cmd': 'USER', 'args': "('root',)"}, ${TAIL}, ${AT}`,
  `{'action': 'command', 'data': {'cmd': 'LIST', 'args': "('-la',)"}, ${TAIL}, ${AT}`,
  `{'action': 'login', 'status': 'failed', ${TAIL}, 'username': 'root', 'password': 'it\\'s "a" \\\\ b\\x01', ${AT}`,
];

test("Python's dicts in the files of honeypots are read, as of now, and what the sensor says of itself is ignored", async () => {
  for (const name of ["auto", "honeypots"]) {
    const [start, connection, user, list, login] = await readContent(DICTS.join("\n"), name);
    expect(start?.ignored).toBe("about-sensor");
    expect(user?.ignored).toBe("no-behaviour");
    expect(connection?.value).toMatchObject({
      observed_at: "2026-11-20T14:00:00.000Z",
      source_ip: "45.83.64.21",
      source_port: 36936,
      destination_port: 21,
      transport: "tcp",
      application: "ftp",
    });
    expect(list?.value).toMatchObject({ commands: ["LIST -la"] });
    expect(login?.value).toMatchObject({
      credentials: [{ username: "root", password: 'it\'s "a" \\ b\u0001' }],
      login_attempts: 1,
    });
  }
});

test("the JSON that honeypots prints is read with its time, a web request with its path and agent", async () => {
  const record = {
    action: "connection",
    data: { Host: "x", "User-Agent": "curl/8", method: "GET", uri: "/.env?a=1" },
    dest_ip: "0.0.0.0",
    dest_port: "80",
    server: "http_server",
    src_ip: "45.83.64.21",
    src_port: "41614",
    timestamp: "2026-11-20T09:46:46.103541",
  };
  const { data: _data, ...again } = record;
  const content = [record, { ...again, action: "GET" }, { ...again, server: "snmp_server", dest_port: "161" }];
  const [request, repeated, snmp] = await readContent(content.map((one) => JSON.stringify(one)).join("\n"));
  expect(request?.value).toMatchObject({
    observed_at: "2026-11-20T09:46:46.103541Z",
    application: "http",
    http: { method: "GET", path: "/.env", query: "a=1", host: "x", user_agent: "curl/8" },
  });
  expect(repeated?.ignored).toBe("no-behaviour");
  expect(snmp?.value).toMatchObject({ transport: "udp", application: "snmp", destination_port: 161 });
});

test("a line that is cut, or is no dict, is a dead letter of its own, and the lines after it are read", async () => {
  const [login = ""] = DICTS.slice(-1);
  const records = await readContent([login.slice(0, 60), "{'a': 1}", login].join("\n"));
  expect(records.map(({ rejection }) => rejection?.reason)).toEqual(["unknown-format", "unknown-format", undefined]);
  const named = await readContent([login.slice(0, 60), "{'a': 1}", login].join("\n"), "honeypots");
  expect(named.map(({ rejection }) => rejection?.reason)).toEqual(["unknown-format", "unknown-format", undefined]);
});

test("what a source types never changes another member", () => {
  const quote = (text: string) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("'", '"', "\\", "{", "}", ",", ":", " ", "a") }), (text) => {
      expect(readPythonDict(`{'a': ${quote(text)}, 'b': [b'x', (1, None), {}], 'c': True}`)).toEqual({
        a: text,
        b: ["x", [1, null], {}],
        c: true,
      });
      readPythonDict(`{'a': ${text}`);
    }),
  );
});
