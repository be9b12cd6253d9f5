import { chmod, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import getPort from "get-port";
import { expect, onTestFinished, test } from "vitest";
import { makeFolder } from "../sensors/sensor.ts";
import { makeList, writeForm } from "../support/builders/feed.ts";
import { eventually } from "../support/eventually.ts";
import { runProgram, unpackDebian } from "../support/programs.ts";
import { type FeedAnswer, linesFor, runLines, startFeedServer } from "../support/recipe-runs.ts";

const unpackWebServers = () => unpackDebian("web-servers-2026.11", "trixie", ["haproxy", "nginx", "apache2-bin"]);
type Servers = Awaited<ReturnType<typeof unpackWebServers>>;

/** A web server over a folder: its configuration with the lines of the recipe, and how it starts, reloads and stops. */
type WebServer = {
  readonly configuration: (folder: string, port: number, servers: Servers) => string;
  readonly start: string;
  readonly reload: Readonly<Record<string, string>>;
  readonly stop: string;
};

const WEB_SERVERS: Readonly<Record<string, WebServer>> = {
  HAProxy: {
    configuration: (folder, port) => `defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend web
  bind 127.0.0.1:${port}
  http-request deny if { src -f ${folder}/noisefloor-edge.lst }
  http-request return status 200
`,
    start: "haproxy -D -f conf -p pid",
    reload: { systemctl: "haproxy -c -q -f conf && haproxy -D -f conf -p pid -sf $(cat pid)" },
    stop: "kill $(cat pid)",
  },
  nginx: {
    configuration: (folder, port) => `pid ${folder}/pid;
error_log ${folder}/error.log;
${process.getuid?.() === 0 ? "user nobody nogroup;" : ""}
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  geo $noisefloor_edge { default 0; include ${folder}/noisefloor-edge.geo; }
  server {
    listen 127.0.0.1:${port};
    if ($noisefloor_edge) { return 403; }
    return 200;
  }
}
`,
    start: "nginx",
    reload: {},
    stop: "nginx -s stop",
  },
  Apache: {
    configuration: (folder, port, { root }) => `ServerRoot ${folder}
${["mpm_event", "authz_core", "rewrite"].map((name) => `LoadModule ${name}_module ${root}/usr/lib/apache2/modules/mod_${name}.so`).join("\n")}
Listen 127.0.0.1:${port}
ServerName test
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
DocumentRoot ${folder}/www
User nobody
Group nogroup
RewriteEngine on
RewriteMap noisefloor-edge txt:${folder}/noisefloor-edge.map
RewriteCond \${noisefloor-edge:%{REMOTE_ADDR}} .
RewriteRule ^ - [F]
`,
    start: "apache -k start",
    reload: {},
    stop: "apache -k stop",
  },
};

/** The status that a visitor from an address of the loopback gets. */
const statusFor = (port: number, localAddress: string) =>
  new Promise<number | undefined>((settle, fail) => {
    request({ host: "127.0.0.1", port, localAddress, path: "/index.html", agent: false }, (response) => {
      response.resume();
      settle(response.statusCode);
    })
      .once("error", fail)
      .end();
  });

const [LISTED, LEAVING, OTHER] = ["127.0.0.6", "127.0.0.7", "127.0.0.8"];
const listOf = async (...ips: string[]) => (await writeForm("txt", makeList(ips))).toString();

test.each(Object.keys(WEB_SERVERS))(
  "%s refuses exactly the visitors on the list, whatever a download was",
  {
    timeout: 600_000,
  },
  async (consumer) => {
    const servers = await unpackWebServers();
    const { configuration, start, reload, stop } = WEB_SERVERS[consumer] ?? {};
    if (configuration === undefined || start === undefined || stop === undefined) throw new Error("no such server");
    const folder = await makeFolder({ "www/index.html": "" });
    await chmod(folder, 0o755);
    const port = await getPort({ host: "127.0.0.1" });
    const feed = await startFeedServer();
    const lines = linesFor(consumer, feed.url, folder);
    const command = (path: string) => servers.commandOf(path).join(" ");
    const programs = {
      haproxy: `(cd ${folder} && ${command("usr/sbin/haproxy")} "$@")`,
      nginx: `${command("usr/sbin/nginx")} -p ${folder} -e ${folder}/error.log -c ${folder}/conf "$@"`,
      apache: `${command("usr/sbin/apache2")} -d ${folder} -f ${folder}/conf "$@"`,
      ...Object.fromEntries(Object.entries(reload ?? {}).map(([name, act]) => [name, `(cd ${folder} && ${act})`])),
    };
    const act = (script: string) => runLines(`cd ${folder}\n${script}`, programs);

    feed.give({ kind: "list", body: await listOf(LISTED, LEAVING) });
    // Where no server runs yet its reload fails; the list is there all the same.
    await act(lines);
    await writeFile(join(folder, "conf"), configuration(folder, port, servers));
    expect(await act(start), await runProgram("sh", ["-c", `cat ${folder}/*.log || true`])).toBe(true);
    onTestFinished(() => act(stop).then(() => {}));
    const both = [LISTED, LEAVING];
    const runs: readonly (readonly [FeedAnswer, boolean, readonly string[]])[] = [
      [{ kind: "list", body: await listOf(...both) }, true, both],
      [{ kind: "list", body: await listOf(...both) }, true, both],
      [{ kind: "error" }, false, both],
      [{ kind: "page" }, false, both],
      [{ kind: "nothing" }, false, both],
      [{ kind: "cut", body: await listOf(LISTED, OTHER) }, false, both],
      [{ kind: "list", body: await listOf(LISTED) }, true, [LISTED]],
      [{ kind: "list", body: await listOf() }, true, []],
      [{ kind: "list", body: await listOf(OTHER) }, true, [OTHER]],
    ];
    for (const [index, [answer, succeeds, refused]] of runs.entries()) {
      feed.give(answer);
      expect([index, await act(lines)]).toEqual([index, succeeds]);
      await eventually(async () => {
        for (const ip of [LISTED, LEAVING, OTHER]) {
          expect([index, ip, await statusFor(port, ip)]).toEqual([index, ip, refused.includes(ip) ? 403 : 200]);
        }
      });
    }
    expect([await act(stop), await act(`sleep 1; ${start}`)]).toEqual([true, true]);
    await eventually(async () => expect(await statusFor(port, OTHER)).toBe(403));
  },
);
