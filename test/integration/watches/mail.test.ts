import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { sendMail } from "@noisefloor/mail/send-mail.ts";
import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { makeCertificate } from "../../support/servers/certificates.ts";
import { destinationHead } from "../../support/watches/events.ts";
import { hostileEvent, sendTo, WATCH_ID } from "../../support/watches/sending.ts";

const FROM = "Noisefloor <noisefloor@example.org>";
const email = (...to: string[]): Destination => ({ ...destinationHead("mail"), type: "email", to });

type Taken = { readonly mail: ParsedMail; readonly recipients: readonly string[]; readonly user: string | undefined };

/** A real server of mail. */
async function startSmtpServer(options: SMTPServerOptions = {}) {
  const taken: Taken[] = [];
  const server = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"], logger: false, closeTimeout: 100 },
    onData(stream, { envelope, user }, callback) {
      const copy = new PassThrough();
      stream.pipe(copy);
      buffer(copy).then(async (bytes) => {
        const recipients = envelope.rcptTo.map(({ address }) => address);
        taken.push({ mail: await simpleParser(bytes), recipients, user });
        callback(null, "2.0.0 queued as 4711");
      }, callback);
    },
    ...options,
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const address = server.server.address();
  return { taken, port: typeof address === "object" && address !== null ? address.port : 0 };
}

test("an event is a mail of plain text, in which what attackers wrote is text: no header, no line, no link", async () => {
  const { port, taken } = await startSmtpServer();
  const mail = { url: `smtp://127.0.0.1:${port}`, from: FROM };
  const event = hostileEvent();
  const sent = await sendTo(email("soc@example.org", "night@example.org"), event, { mail });
  expect(sent).toMatchObject({ isDelivered: true, status: 0, body: expect.stringContaining("queued as 4711") });
  const [{ mail: read, recipients } = {}] = taken;
  expect(recipients).toEqual(["soc@example.org", "night@example.org"]);
  expect(read?.from?.text).toBe('"Noisefloor" <noisefloor@example.org>');
  expect([read?.cc, read?.bcc, read?.html, read?.attachments]).toEqual([undefined, undefined, false, []]);
  expect(read?.messageId).toBe(`<${event.id}@noisefloor>`);
  expect(read?.headers.get("auto-submitted")).toBe("auto-generated");
  expect(read?.subject).toMatch(/^new path: \/a\?<!channel>&<@U123>\|x>\\u\{d\}\\u\{a\}Bcc: eve@example\[\.\]org.*…$/);
  const lines = read?.text?.trimEnd().split("\n") ?? [];
  expect(lines.slice(1)).toEqual([
    "",
    `  198.51.100.7  malicious  last seen ${event.detected_at}  ssh-bruteforcer`,
    "",
    event.link,
    "",
    `Watch "Ünsere "Netze" ]`.concat(`", ${event.detected_at}`),
  ]);
  expect(lines[0]).toContain("ü€😀");
  expect(read?.text?.match(/https?:\/\/\S+/g)).toEqual([`https://noise.example.org/watches/${WATCH_ID}`]);
});

test("the server may ask for TLS and a password, which no error shows", async () => {
  const certificate = await makeCertificate("localhost");
  const { port, taken } = await startSmtpServer({
    ...{ ...certificate, authOptional: false, disabledCommands: [] },
    onAuth: ({ username, password }, _session, callback) =>
      password === "s3cr3t/" ? callback(null, { user: username ?? "" }) : callback(new Error("no")),
  });
  const at = `noisefloor:s3cr3t%2F@localhost:${port}`;
  const options = { from: FROM, ca: certificate.cert };
  expect(
    await sendTo(email("soc@example.org"), hostileEvent(), { mail: { url: `smtp://${at}`, ...options } }),
  ).toMatchObject({ isDelivered: true });
  expect(taken).toMatchObject([{ user: "noisefloor" }]);
  const wrong = { url: `smtp://${at.replace("s3cr3t", "s3cr3tly")}`, ...options };
  const { isDelivered, error } = await sendTo(email("soc@example.org"), hostileEvent(), { mail: wrong });
  expect({ isDelivered, error }).toEqual({ isDelivered: false, error: expect.stringMatching(/535/) });
  expect(error).not.toContain("s3cr3t");
  const unknown = { url: `smtp://${at}`, from: FROM };
  expect(await sendTo(email("soc@example.org"), hostileEvent(), { mail: unknown })).toMatchObject({
    error: expect.stringMatching(/self-signed/),
  });
  expect(taken).toHaveLength(1);
});

test("recipients that are refused for good keep the others from nothing, and are named; later ones are tried again", async () => {
  const { port, taken } = await startSmtpServer({
    onRcptTo({ address }, _session, callback) {
      const code = Number(/^\d+/.exec(address)?.[0] ?? 0);
      callback(code === 0 ? null : Object.assign(new Error("no"), { responseCode: code }));
    },
  });
  const mail = { url: `smtp://127.0.0.1:${port}`, from: FROM };
  const send = (...to: string[]) => sendTo(email(...to), hostileEvent(), { mail });
  expect(await send("550@example.org", "soc@example.org")).toMatchObject({
    ...{ isDelivered: true, body: expect.stringMatching(/refused: 550@example\.org$/) },
  });
  expect(await send("soc@example.org", "451@example.org")).toMatchObject({ isDelivered: false });
  expect(await send("550@example.org")).toMatchObject({ isDelivered: false, error: expect.stringMatching(/550/) });
  expect(taken.map(({ recipients }) => recipients)).toEqual([["soc@example.org"], ["soc@example.org"]]);
});

test("a server that is away or never answers is a failure in time", async () => {
  const { port } = await startSmtpServer({ onMailFrom: () => {} });
  const send = (at: string) =>
    sendTo(email("soc@example.org"), hostileEvent(), { mail: { url: at, from: FROM }, timeoutMs: 300 });
  expect(await send(`smtp://127.0.0.1:${port}`)).toMatchObject({ isDelivered: false, error: "took longer than 0.3 s" });
  expect(await send("smtp://127.0.0.1:1")).toMatchObject({ error: expect.stringMatching(/ECONNREFUSED/) });
});

test("a subject has no line breaks, whoever sends it", async () => {
  const { port, taken } = await startSmtpServer();
  const server = { url: `smtp://127.0.0.1:${port}`, from: "noisefloor@example.org" };
  await sendMail(server, {
    to: ["soc@example.org"],
    subject: "one\r\nBcc: eve@example.org\u0000",
    text: "a\n",
    id: "x",
  });
  expect(taken.map(({ mail }) => mail.bcc)).toEqual([undefined]);
  expect(taken).toMatchObject([{ mail: { subject: "one Bcc: eve@example.org" } }]);
});
