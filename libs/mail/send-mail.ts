import { unlessAborted } from "@noisefloor/domain/time/unless-aborted.ts";

export type MailServer = {
  /** `smtps://user:password@host` or `smtp://host:587`. */
  readonly url: string;
  /** The sender, as `Noisefloor <noisefloor@example.org>`. */
  readonly from: string;
  /** Certificates of authorities that sign the server's, as PEM; left out, those that Node knows. */
  readonly ca?: string;
};

export type Mail = {
  readonly to: readonly string[];
  /** Line breaks and other control characters are left out of it. */
  readonly subject: string;
  readonly text: string;
  /** Mails with the same one are the same mail: of letters, digits and hyphens. */
  readonly id: string;
};

/** For each step of a conversation with the server. */
const STEP_MS = 8_000;

/** 4xx of SMTP: the server may take it later. */
const isTemporary = ({ responseCode = 0 }: { readonly responseCode?: number | undefined }) => responseCode < 500;

/**
 * Sends a mail of plain text over a connection of its own.
 * @returns the server's answer, with the recipients that it refused for good.
 * @throws Error that says why, when the server takes it for none of them, or may take it later for one.
 */
export async function sendMail({ url, from, ca }: MailServer, mail: Mail, signal?: AbortSignal): Promise<string> {
  // Most services send no mail, and would hold it in memory all the same.
  const { createTransport } = await import("nodemailer");
  const transport = createTransport({
    url,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    dnsTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(ca !== undefined && { tls: { ca } }),
  });
  const sent = transport.sendMail({
    from,
    // As objects, so that a comma or a bracket makes no second recipient.
    to: mail.to.map((address) => ({ name: "", address })),
    subject: mail.subject.replace(/\p{Cc}+/gu, " ").trim(),
    text: mail.text,
    messageId: `<${mail.id}@noisefloor>`,
    headers: { "Auto-Submitted": "auto-generated" },
  });
  const { response, rejected, rejectedErrors = [] } = await unlessAborted(sent, signal);
  const [later] = rejectedErrors.filter(isTemporary);
  if (later !== undefined) throw later;
  return rejected.length === 0 ? response : `${response}; refused: ${rejected.join(", ")}`;
}
