import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import type { Post } from "../http-request.ts";
import type { Message } from "../message.ts";
import { MAX_SUMMARY, MAX_TITLE, plainLine } from "../plain-text.ts";

type Ntfy = Extract<Destination, { type: "ntfy" }>;

/** A message to a topic, which opens the event's page. */
export function ntfyPost({ url, token }: Ntfy, { event }: Message): Post {
  const isTest = event.type === "test";
  return {
    url,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      title: encodeWord(plainLine(event.watch.name, MAX_TITLE)),
      priority: isTest ? "default" : "high",
      tags: isTest ? "white_check_mark" : "rotating_light",
      click: new URL(event.link).href,
      ...(token !== "" && { authorization: `Bearer ${token}` }),
    },
    body: plainLine(event.summary, MAX_SUMMARY),
  };
}

/** A header's text, as RFC 2047: headers hold ASCII alone, and a text may look like an encoded one. */
const encodeWord = (text: string) =>
  /^[\x20-\x7e]*$/.test(text) && !text.includes("=?") ? text : `=?UTF-8?B?${Buffer.from(text).toString("base64")}?=`;
