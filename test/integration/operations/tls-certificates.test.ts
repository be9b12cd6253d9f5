import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent as HttpsAgent } from "node:https";
import { join } from "node:path";
import { createTlsServer, TlsFilesError } from "@noisefloor/http/server/tls.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually, throughout } from "../../support/eventually.ts";
import { CERTIFICATE_CHECK_MS, openTlsWorld, type TlsWorld } from "../../support/query/tls-world.ts";
import { makeCertificate, replaceFile, writeCertificate } from "../../support/servers/certificates.ts";
import { silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let tls: TlsWorld;

beforeAll(async () => {
  world = await createWorld(Date.now);
});
afterAll(() => world.close());
beforeEach(async () => {
  tls = await openTlsWorld(world);
});
afterEach(() => tls.close());

test("new connections get a renewed certificate, and an open one continues", async () => {
  const agent = new HttpsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  let connections = 0;
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (...args: Parameters<typeof create>) => {
    connections++;
    return create(...args);
  };
  expect((await tls.get("https", "/v3/tags", agent)).status).toBe(200);
  expect(await tls.servedName()).toBe("first");
  await writeCertificate(tls.files, await makeCertificate("second"));
  await eventually(async () => expect(await tls.servedName()).toBe("second"), 5_000);
  expect((await tls.get("https", "/v3/tags", agent)).status).toBe(200);
  expect(connections).toBe(1);
  agent.destroy();
  expect(tls.log()).toMatch(/"CN=second".*renewed/);
});

test("a renewal by changing where a link points is noticed, as Kubernetes does it", async () => {
  for (const name of ["one", "two"]) {
    await mkdir(join(tls.folder, name));
    const inside = { certFile: join(tls.folder, name, "tls.crt"), keyFile: join(tls.folder, name, "tls.key") };
    await writeCertificate(inside, await makeCertificate(name));
  }
  await symlink("one", join(tls.folder, "data"));
  for (const file of ["tls.crt", "tls.key"]) {
    await symlink(join("data", file), join(tls.folder, "link"));
    await rename(join(tls.folder, "link"), join(tls.folder, file));
  }
  await eventually(async () => expect(await tls.servedName()).toBe("one"), 5_000);
  await symlink("two", join(tls.folder, "data-new"));
  await rename(join(tls.folder, "data-new"), join(tls.folder, "data"));
  await eventually(async () => expect(await tls.servedName()).toBe("two"), 5_000);
});

test("a session from before the renewal is not resumed with the old certificate", async () => {
  const before = await tls.handshake({ maxVersion: "TLSv1.2" });
  const session = before.getSession();
  before.destroy();
  await writeCertificate(tls.files, await makeCertificate("second"));
  await eventually(async () => expect(await tls.servedName()).toBe("second"), 5_000);
  const after = await tls.handshake({ maxVersion: "TLSv1.2", ...(session && { session }) });
  expect(after.isSessionReused()).toBe(false);
  expect(after.getPeerCertificate().subject.CN).toBe("second");
  after.destroy();
});

test.each([
  ["a key of another certificate", async () => replaceFile(tls.files.keyFile, (await makeCertificate("other")).key)],
  ["a key of another kind", async () => replaceFile(tls.files.keyFile, (await makeCertificate("other", "rsa")).key)],
  [
    "a truncated certificate",
    async () => replaceFile(tls.files.certFile, (await makeCertificate("other")).cert.slice(0, 300)),
  ],
  [
    "a truncated chain",
    async () => replaceFile(tls.files.certFile, (await makeCertificate("other")).cert.repeat(2).slice(0, -200)),
  ],
  ["an empty file", async () => replaceFile(tls.files.keyFile, "")],
  ["no file at all", async () => rm(tls.files.certFile)],
])("%s: the old certificate stays in use, with one warning, until the pair fits again", async (_what, damage) => {
  await damage();
  await eventually(async () => expect(tls.log()).toContain("serving the last certificate"), 5_000);
  const warnings = () => tls.log().match(/serving the last certificate/g);
  await throughout(5 * CERTIFICATE_CHECK_MS, () => expect(warnings()).toHaveLength(1));
  expect(await tls.servedName()).toBe("first");
  expect((await tls.get("https", "/v3/tags")).status).toBe(200);
  await writeCertificate(tls.files, await makeCertificate("third"));
  await eventually(async () => expect(await tls.servedName()).toBe("third"), 5_000);
});

test.each([
  ["TLS_CERT_FILE: ENOENT", async () => rm(tls.files.certFile)],
  ["TLS_KEY_FILE: ENOENT", async () => rm(tls.files.keyFile)],
  [
    "TLS_CERT_FILE: EISDIR",
    async () => {
      await rm(tls.files.certFile);
      await mkdir(tls.files.certFile);
    },
  ],
  [
    "TLS_CERT_FILE: .*tls.crt holds no PEM certificate",
    async () => writeFile(tls.files.certFile, "nothing of the kind"),
  ],
  ["TLS_KEY_FILE: .*tls.key holds no PEM private key", async () => writeFile(tls.files.keyFile, "nothing of the kind")],
  [
    "TLS_KEY_FILE: .*tls.key is not the key of the certificate in TLS_CERT_FILE, .*tls.crt",
    async () => writeFile(tls.files.keyFile, (await makeCertificate("other")).key),
  ],
])("a start fails with: %s", async (message, damage) => {
  await damage();
  const failure = await createTlsServer(tls.app, { files: tls.files, log: silent }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(TlsFilesError);
  expect(failure).toMatchObject({ message: expect.stringMatching(new RegExp(`^${message}`)) });
});
