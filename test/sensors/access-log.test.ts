import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import getPort from "get-port";
import { expect, test } from "vitest";
import { unpackDebian } from "../support/programs.ts";
import { makeFolder, readLog, replayLog, SCANNER, startSensor } from "./sensor.ts";

const settingsOf = (folder: string, port: number) => `
daemon off; master_process off; pid ${folder}/pid; error_log stderr notice;
events {}
http {
  log_format vhost '$host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
  access_log ${folder}/combined.log combined;
  access_log ${folder}/vhost.log vhost;
  client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server { listen 127.0.0.1:${port}; server_name cafe.de; location / { return 200 ok; } }
}
`;

/** Sends a request with a user name that nobody asked for. */
const visit = (port: number, path: string) =>
  new Promise((settle, fail) => {
    const headers = { host: "cafe.de", "user-agent": "probe/1" };
    const sent = request({ host: "127.0.0.1", port, path, auth: "admin:x", headers }, (response) =>
      text(response).then(settle, fail),
    );
    sent.on("error", fail).end();
  });

const send = (port: number, bytes: string) => text(connect({ host: "127.0.0.1", port }).end(bytes));

test.each(["combined", "vhost"])("visits to nginx 1.26 in its log %s are stored", { timeout: 600_000 }, async (log) => {
  const { commandOf } = await unpackDebian("nginx-trixie", "trixie", ["nginx-light"]);
  const port = await getPort({ host: "127.0.0.1" });
  const folder = await makeFolder({});
  const settings = join(await makeFolder({ "nginx.conf": settingsOf(folder, port) }), "nginx.conf");
  const [loader, ...args] = commandOf("usr/sbin/nginx");
  await startSensor(loader, [...args, "-p", folder, "-c", settings], { folder, ready: /event method/ });
  await visit(port, "/cgi-bin/luci");
  await send(port, "OPTIONS sip:nm SIP/2.0\r\nVia: SIP/2.0/TCP nm\r\n\r\n");
  await send(port, "\x16\x03\x01\r\n");
  const lines = await readLog(join(folder, `${log}.log`), / (?:200|400) /, 3);
  const { summary, rows } = await replayLog(lines.replaceAll("127.0.0.1 ", `${SCANNER} `));
  expect(summary).toMatchObject({ read: 3, accepted: 3 });
  const contact = { source: SCANNER, transport: "tcp", port: null };
  const found = rows.toSorted((one, other) => one.path.localeCompare(other.path));
  expect(found).toMatchObject([
    { ...contact, application: "http", path: "" },
    { ...contact, application: "http", path: "/cgi-bin/luci", agent: "probe/1" },
    { ...contact, application: "sip", method: "OPTIONS", path: "sip:nm" },
  ]);
});
