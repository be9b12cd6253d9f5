import type { StoredEvent } from "@noisefloor/clickhouse/watches/log.ts";
import { cut, showInvisible } from "@noisefloor/domain/text/show-invisible.ts";
import { eventSchema } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { type MailServer, sendMail } from "@noisefloor/mail/send-mail.ts";
import { type Post, post } from "./http-request.ts";
import type { Message } from "./message.ts";
import type { DestinationPolicy } from "./policy.ts";
import { chatPost } from "./types/chat.ts";
import { mailOf } from "./types/email.ts";
import { ntfyPost } from "./types/ntfy.ts";
import { sendSyslog, syslogMessage } from "./types/syslog.ts";
import { webhookPosts } from "./types/webhook.ts";

export type Sent = {
  readonly isDelivered: boolean;
  /** Of HTTP; 0 without an answer, and for destinations that speak no HTTP. */
  readonly status: number;
  /** Why it was not delivered; empty when it was. */
  readonly error: string;
  /** The first 1,000 characters of the answer. */
  readonly body: string;
  /** The destination says that it is gone for good (410). */
  readonly switchesOff: boolean;
};

export type Sender = {
  /** Sends an event to a destination once. Never rejects: what goes wrong is in its answer. */
  send(destination: Destination, event: StoredEvent, signal: AbortSignal): Promise<Sent>;
};

export type SenderOptions = {
  readonly policy: DestinationPolicy;
  readonly mail: MailServer | undefined;
  /** The name of this machine, for syslog. */
  readonly hostName: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Certificates of further authorities that sign those of receivers, as PEM. */
  readonly ca?: string;
  /** For each attempt. */
  readonly timeoutMs?: number;
};

const TIMEOUT_MS = 10_000;
const MAX_ERROR = 300;
const GONE = 410;

const isSuccess = (status: number) => status >= 200 && status < 300;

export function openSender({ policy, mail, hostName, now, ca, timeoutMs = TIMEOUT_MS }: SenderOptions): Sender {
  const deliver = async (destination: Destination, message: Message, stop: AbortSignal): Promise<Partial<Sent>> => {
    const attempt = <T>(act: (signal: AbortSignal) => Promise<T>) => within(timeoutMs, stop, act);
    const postAll = async (posts: Iterable<Post>): Promise<Partial<Sent>> => {
      let last = { status: 0, body: "" };
      for (const each of posts) {
        last = await attempt((signal) => post(each, { policy, ca, signal }));
        if (!isSuccess(last.status)) return { ...last, error: errorOf(last.status), switchesOff: last.status === GONE };
      }
      return last;
    };
    switch (destination.type) {
      case "webhook":
        return postAll(webhookPosts(destination, message, now));
      case "slack":
      case "mattermost":
        return postAll([chatPost(destination, message)]);
      case "ntfy":
        return postAll([ntfyPost(destination, message)]);
      case "email":
        if (mail === undefined) return { error: "SMTP_URL and MAIL_FROM are not set" };
        return { body: await attempt((signal) => sendMail(mail, mailOf(destination, message), signal)) };
      case "syslog": {
        const line = syslogMessage(message.event, hostName);
        await attempt((signal) => sendSyslog(destination, line, { policy, ca, signal }));
        return {};
      }
    }
  };
  return {
    async send(destination, { body, workspaceId }, signal) {
      const none = { status: 0, error: "", body: "", switchesOff: false };
      try {
        const event = eventSchema.parse(JSON.parse(body));
        const sent = { ...none, ...(await deliver(destination, { event, body, workspaceId }, signal)) };
        return { ...sent, isDelivered: sent.error === "" };
      } catch (error) {
        return { ...none, isDelivered: false, error: formatError(error) };
      }
    },
  };
}

async function within<T>(ms: number, stop: AbortSignal, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = AbortSignal.timeout(ms);
  try {
    return await act(AbortSignal.any([stop, late]));
  } catch (error) {
    throw late.aborted ? new Error(`took longer than ${ms / 1_000} s`) : error;
  }
}

const errorOf = (status: number) =>
  status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`;

/** The error of a connection that was tried to several addresses has theirs. */
function formatError(error: unknown): string {
  const causes = error instanceof AggregateError ? error.errors : [error];
  const texts = causes.map((cause) => (cause instanceof Error ? cause.message : String(cause)));
  return cut(showInvisible(texts.join("; ")), MAX_ERROR);
}
