import { isIP } from "node:net";
import { isTimeZone } from "@noisefloor/domain/time/zone.ts";

/** An address or a network in CIDR notation. Rejects prefix 0, with which any client could forge X-Forwarded-For. */
export function isNetwork(text: string): boolean {
  const [address = "", prefix = "1", ...rest] = text.split("/");
  const family = isIP(address);
  return (
    family !== 0 && rest.length === 0 && /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128)
  );
}

export function isOrigin(text: string): boolean {
  return text === "*" || (URL.canParse(text) && new URL(text).origin === text);
}

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Of a server that takes mail, by STARTTLS or TLS; the user and the password may stand in it. */
export function isSmtpUrl(text: string): boolean {
  return /^smtps?:\/\/./.test(text) && URL.canParse(text) && new URL(text).hostname !== "";
}

/** An address, or a name and an address in angle brackets. */
export function isMailAddress(text: string): boolean {
  return /^(?:[^<>"\r\n]* <[^\s<>@,;"]+@[^\s<>@,;"]+>|[^\s<>@,;"]+@[^\s<>@,;"]+)$/.test(text);
}

export function isHostName(text: string): boolean {
  return text === "*" || (URL.canParse(`http://${text}`) && new URL(`http://${text}`).hostname === text.toLowerCase());
}

export function isBroker(text: string): boolean {
  const port = /^[^\s:/@]+:(\d{1,5})$/.exec(text)?.[1];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535;
}

/** An address of a resolver, with or without a port. */
export function isNameServer(text: string): boolean {
  const [, address = "", port = "53"] = /^([\d.]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  return isIP(address) === 4 && Number(port) >= 1 && Number(port) <= 65_535;
}

/** Two ports: the one that a sensor listens on, and the one that the Internet sees. */
export function isPortRewrite(text: string): boolean {
  const ports = /^(\d{1,5})=(\d{1,5})$/.exec(text)?.slice(1) ?? [];
  return ports.length === 2 && ports.every((port) => Number(port) >= 1 && Number(port) <= 65_535);
}

/** A sensor or a format, or `*` for all others, and the zone of its times. */
export function isSensorTimeZone(text: string): boolean {
  const [, zone = ""] = splitSensorTimeZone(text);
  return zone !== "" && isTimeZone(zone);
}

/** The parts of a text like `cellar=Europe/Berlin`. A sensor's name may have an equals sign, and a zone has none. */
export function splitSensorTimeZone(text: string): readonly [name: string, zone: string] {
  const [, name = "", zone = ""] = /^(.+)=([^=]+)$/.exec(text) ?? [];
  return [name.trim(), zone.trim()];
}

/** A topic and the format of its records. */
export function isRawTopic(text: string): boolean {
  return /^[A-Za-z0-9._-]{1,249}=[a-z0-9-]{1,64}$/.test(text);
}
