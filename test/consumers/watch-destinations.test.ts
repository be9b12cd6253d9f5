import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import getPort from "get-port";
import { expect, test } from "vitest";
import { z } from "zod";
import { makeFolder, startSensor } from "../sensors/sensor.ts";
import { eventually } from "../support/eventually.ts";
import { runProgram, unpackDebian } from "../support/programs.ts";
import { makeCertificate } from "../support/servers/certificates.ts";
import { destinationHead } from "../support/watches/events.ts";
import { hostileEvent, sendTo, WATCH_ID } from "../support/watches/sending.ts";

const RELEASE = "trixie";

test.each(["tcp", "tls"] as const)(
  "rsyslog 8 reads events over %s, with their ids apart from what attackers wrote",
  { timeout: 600_000 },
  async (transport) => {
    const { commandOf } = await unpackDebian("rsyslog-tls-trixie", RELEASE, ["rsyslog", "rsyslog-gnutls"]);
    const port = await getPort({ host: "127.0.0.1" });
    const { cert, key } = await makeCertificate("localhost", "rsa");
    const folder = await makeFolder({ "cert.pem": cert, "key.pem": key });
    const driver =
      transport === "tls" ? 'streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon"' : "";
    const config = `
      global(workDirectory="${folder}" defaultNetstreamDriverCAFile="${folder}/cert.pem"
        defaultNetstreamDriverCertFile="${folder}/cert.pem" defaultNetstreamDriverKeyFile="${folder}/key.pem")
      module(load="imtcp" ${driver})
      input(type="imtcp" address="127.0.0.1" port="${port}")
      template(name="read" type="string"
        string="%pri%|%timestamp:::date-rfc3339%|%hostname%|%app-name%|%msgid%|%structured-data%|%msg%\\n")
      action(type="omfile" file="${folder}/read" template="read")`;
    const conf = join(await makeFolder({ "rsyslog.conf": config }), "rsyslog.conf");
    const [loader, option, libraries, program] = commandOf("usr/sbin/rsyslogd");
    const own = ["-n", "-f", conf, "-i", join(folder, "pid"), "-M", join(libraries, "rsyslog")];
    await startSensor(loader, [option, libraries, program, ...own], { folder, ready: /^/ });
    const destination: Destination = {
      ...{ ...destinationHead("siem"), type: "syslog", host: "localhost", port, transport },
    };
    const event = hostileEvent();
    await eventually(async () =>
      expect(await sendTo(destination, event, { ca: cert, hostName: hostname() })).toMatchObject({ error: "" }),
    );
    const line = await eventually(async () => {
      const read = await readFile(join(folder, "read"), "utf8");
      expect(read).toContain("\n");
      return read.trimEnd().split("\n").at(-1) ?? "";
    });
    const [priority, time, host, application, id, data, ...text] = line.split("|");
    expect({ priority, host, application, id }).toEqual({
      ...{ priority: "132", host: hostname(), application: "noisefloor", id: "network_seen" },
    });
    expect(Date.parse(time ?? "")).toBe(Date.parse(event.detected_at));
    const name = String.raw`Ünsere \"Netze\" \]`;
    const values = `event="${event.id}" watch="${WATCH_ID}" name="${name}" link="${event.link}"`;
    expect(data).toBe(`[noisefloor@32473 ${values}]`);
    expect(text.join("|")).toMatch(/^\ufeff?new path: .*\\u\{d\}\\u\{a\}Bcc: eve@example\.org/);
  },
);

const ntfyMessage = z.object({
  ...{ event: z.string(), title: z.string(), message: z.string(), priority: z.int(), click: z.string() },
  tags: z.array(z.string()),
});

test("ntfy 2 shows an event to who may read its topic", { timeout: 600_000 }, async () => {
  const { root } = await unpackDebian("ntfy-trixie", RELEASE, ["ntfy"]);
  const program = join(root, "usr/bin/ntfy");
  const port = await getPort({ host: "127.0.0.1" });
  const base = `http://127.0.0.1:${port}`;
  const folder = await makeFolder({});
  const config = [
    ...[`base-url: ${base}`, `listen-http: 127.0.0.1:${port}`, `cache-file: ${folder}/cache.db`],
    ...[`auth-file: ${folder}/auth.db`, "auth-default-access: deny-all", ""],
  ].join("\n");
  const conf = join(await makeFolder({ "server.yml": config }), "server.yml");
  await startSensor(program, ["serve", "--config", conf], { folder, ready: /Listening on/i });
  await runProgram(program, ["user", "--config", conf, "add", "--role=admin", "reader"], { NTFY_PASSWORD: "reader" });
  // It says the token as an error.
  const made = await runProgram("sh", ["-c", '"$0" token --config "$1" add reader 2>&1', program, conf]);
  const [token = ""] = /tk_[a-z0-9]+/.exec(made) ?? [];
  const phone = { ...destinationHead("phone"), type: "ntfy", url: `${base}/scans` } as const;
  const event = hostileEvent();
  expect(await sendTo({ ...phone, token: "" }, event)).toMatchObject({ isDelivered: false, status: 403 });
  expect(await sendTo({ ...phone, token }, event)).toMatchObject({ isDelivered: true, status: 200 });
  const polled = await fetch(`${base}/scans/json?poll=1`, { headers: { authorization: `Bearer ${token}` } });
  const [message, ...others] = (await polled.text()).trim().split("\n");
  expect(others).toEqual([]);
  const read = ntfyMessage.parse(JSON.parse(message ?? ""));
  expect(read).toMatchObject({
    ...{ event: "message", title: event.watch.name, priority: 4, click: event.link, tags: ["rotating_light"] },
  });
  expect(read.message).toContain("Bcc: eve@example[.]org");
  expect(read.message).toContain("ü€😀");
});
