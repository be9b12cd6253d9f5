import { isIP } from "node:net";
import type { Destination } from "@noisefloor/domain/watches/watch.ts";
import type { DestinationPolicy } from "./policy.ts";
import { keyOf } from "./secrets.ts";

export type DestinationRules = {
  readonly policy: DestinationPolicy;
  /** Whether settings name a server that takes mail. */
  readonly sendsMail: boolean;
};

const MAX_RECIPIENTS = 20;
const MAIL_ADDRESS = /^[^\s\p{Cc}<>()[\]\\@,;:"]{1,64}@[^\s\p{Cc}<>()[\]\\@,;:"]{1,255}$/u;

/** @returns what is wrong with a destination, in a sentence; undefined when events may be sent to it. */
export function checkDestination(destination: Destination, rules: DestinationRules): string | undefined {
  switch (destination.type) {
    case "webhook":
      if (keyOf(destination.secret) === undefined) return "secret must be whsec_ and the Base64 of 24 to 64 bytes";
      return checkUrl(destination.url, rules);
    case "slack":
    case "mattermost":
      return checkUrl(destination.url, rules);
    case "ntfy":
      if (!/^[\x21-\x7e]*$/.test(destination.token)) return "token must have no spaces and ASCII characters alone";
      if (URL.canParse(destination.url) && new URL(destination.url).pathname === "/")
        return "url must be that of a topic, like https://ntfy.sh/scans";
      return checkUrl(destination.url, rules);
    case "syslog":
      if (destination.port < 1 || destination.port > 65_535) return "port must be from 1 to 65535";
      return checkHost("host", destination.host, rules.policy);
    case "email":
      if (!rules.sendsMail) return "email needs the settings SMTP_URL and MAIL_FROM of the service";
      if (destination.to.length === 0 || destination.to.length > MAX_RECIPIENTS)
        return `to must have 1 to ${MAX_RECIPIENTS} addresses`;
      return destination.to.every((address) => MAIL_ADDRESS.test(address))
        ? undefined
        : "to must have addresses like soc@example.org";
  }
}

function checkUrl(text: string, { policy }: DestinationRules): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "url must be an http or https URL";
  // Answers show URLs.
  if (url.username !== "" || url.password !== "") return "url must have no user and no password";
  return checkHost("url", url.hostname.replace(/^\[|\]$/g, ""), policy);
}

function checkHost(member: string, text: string, policy: DestinationPolicy): string | undefined {
  // As a URL's, which reads 2130706433 and 0x7f.1 as 127.0.0.1, as connections do.
  const inUrl = isIP(text) === 6 ? `http://[${text.replace(/%.*/, "")}]` : `http://${text}`;
  if (text === "" || /[/?#@\\\s]/.test(text) || (isIP(text) === 0 && text.includes(":")) || !URL.canParse(inUrl))
    return `${member} must name a host`;
  const host = new URL(inUrl).hostname.replace(/^\[|\]$/g, "");
  const addresses = /^(?:.+\.)?localhost\.?$/.test(host) ? ["127.0.0.1", "::1"] : [host];
  const reasons = addresses.flatMap((address) => (isIP(address) === 0 ? [] : [policy.whyRefused(address)]));
  const [reason] = reasons;
  if (reason === undefined || reasons.includes(undefined)) return undefined;
  return `${member} leads to ${host}, which ${reason}: the setting WATCH_DESTINATIONS of the service has no exception for it`;
}
