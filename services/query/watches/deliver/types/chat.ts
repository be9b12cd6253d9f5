import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import type { Post } from "../http-request.ts";
import type { Message } from "../message.ts";
import { MAX_SUMMARY, plainLine } from "../plain-text.ts";

type Chat = Extract<Destination, { type: "slack" | "mattermost" }>;

/** A message by an incoming webhook, whose one link is the event's. */
export function chatPost({ type, url }: Chat, { event }: Message): Post {
  const summary = plainLine(event.summary, MAX_SUMMARY);
  const payload =
    type === "slack"
      ? {
          text: `${escapeMrkdwn(summary)}\n<${event.link}>`,
          mrkdwn: false,
          parse: "none",
          link_names: false,
          unfurl_links: false,
          unfurl_media: false,
        }
      : { text: `${codeSpan(summary)}\n<${event.link}>` };
  return { url, headers: { "content-type": "application/json" }, body: JSON.stringify(payload) };
}

/** Without these, nothing is a mention (`<!channel>`) or a link. */
const escapeMrkdwn = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Mattermost finds no mention, link, image or format in a code span. Its fence is longer than any in the text. */
function codeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence} ${text} ${fence}`;
}
