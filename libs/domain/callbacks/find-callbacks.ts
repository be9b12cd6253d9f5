import { isRoutableIpv4 } from "../address/ipv4.ts";
import { FOUND } from "../observation/members.ts";
import type { Callback } from "./callback.ts";

/** What callbacks are found in. */
export type CallbackSource = {
  readonly urls?: readonly string[] | undefined;
  readonly payload_sha256?: readonly string[] | undefined;
};

const PORTS: Readonly<Record<string, number>> = { http: 80, https: 443, ftp: 21 };

/** The callbacks of an observation, each once. @param isOwnAddress whether an address is one of the sensors' own. */
export function findCallbacks(
  { urls = [], payload_sha256 = [] }: CallbackSource,
  isOwnAddress: (address: string) => boolean,
): Callback[] {
  const [sha256 = "", second] = payload_sha256;
  return urls.slice(0, FOUND.callbacks.maxItems).flatMap((text): Callback[] => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const scheme = url?.protocol.slice(0, -1) ?? "";
    if (url === undefined || !(scheme in PORTS)) return [];
    const host = url.hostname;
    const isAddress = /^[\d.]+$/.test(host);
    if (isAddress ? !isRoutableIpv4(host) || isOwnAddress(host) : !host.includes(".")) return [];
    const port = url.port === "" ? (PORTS[scheme] ?? 0) : Number(url.port);
    const isOnly = urls.length === 1 && second === undefined;
    return [{ host, port, scheme, path: url.pathname + url.search, text, sha256: isOnly ? sha256 : "" }];
  });
}
