import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import { destinationPolicy } from "@noisefloor/query/watches/deliver/policy.ts";
import { openSender, type SenderOptions } from "@noisefloor/query/watches/deliver/sender.ts";
import { logged, networkEvent, WORKSPACE } from "./events.ts";

/** What scanners may write into a path or a user name, to be shown to people. */
export const HOSTILE =
  "new path: /a?<!channel>&<@U123>|x>\r\nBcc: eve@example.org\n@here @all ``` *b* [c](https://evil.example/d) ![e](http://evil.example/f.png) www.evil.example =?UTF-8?Q?g?= \u202egpj.exe \u0007ü€😀";

/** Sends an event to a receiver of this machine. */
export function sendTo(
  destination: Destination,
  event: WatchEvent = hostileEvent(),
  more: Partial<SenderOptions> = {},
) {
  const policy = destinationPolicy(["127.0.0.0/8", "::1"]);
  const sender = openSender({ policy, mail: undefined, hostName: "noise", now: Date.now, timeoutMs: 2_000, ...more });
  const stored = logged(event, { id: event.watch.id, workspaceId: WORKSPACE }, 1);
  return sender.send(destination, stored, new AbortController().signal);
}

export const hostileEvent = () => networkEvent({ id: WATCH_ID, name: `Ünsere "Netze" ]` }, Date.now(), HOSTILE);

export const WATCH_ID = "6b0f2a3e-6a53-4b44-9f6f-0c2c0a2f7d11";
