import { addressOf } from "./observation.ts";

/** A visit to a honeypot. */
export type Visit = { readonly ip: string; readonly session: string; readonly at: number; readonly logins: number };

/** Visits of some addresses, each with a few logins, a minute apart. */
export function visits(count: number, from: number): Visit[] {
  return Array.from({ length: count }, (_, number) => ({
    ip: addressOf(number % 5),
    session: `5e55${number.toString(16).padStart(8, "0")}`,
    at: from + number * 60_000,
    logins: number % 4,
  }));
}

/** The lines that Cowrie logs about a visit. */
export function cowrieLines({ ip, session, at, logins }: Visit): string[] {
  let second = 0;
  const line = (event: string, members: object) =>
    JSON.stringify({
      eventid: `cowrie.${event}`,
      ...members,
      src_ip: ip,
      session,
      sensor: "pot",
      timestamp: new Date(at + second++ * 1_000).toISOString(),
    });
  return [
    line("session.connect", { src_port: 40_000, dst_ip: "172.20.0.2", dst_port: 2222, protocol: "ssh" }),
    line("client.version", { version: "SSH-2.0-Go" }),
    ...Array.from({ length: logins }, (_, number) =>
      line("login.failed", { username: "root", password: `p${number}` }),
    ),
    line("command.input", { input: "uname -a" }),
    line("session.closed", { duration: 3 }),
  ];
}
