import { isIpv4, isRoutableIpv4 } from "../address/ipv4.ts";

/** What is called: a callback without the words that named it. */
export type Target = {
  readonly host: string;
  readonly port: number;
  readonly scheme: string;
  readonly path: string;
};

/** The schemes that reach a host, and their usual ports; 0 where there is none. A defanged `hxxp` is not among them. */
const PORTS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ http: 80, https: 443, ws: 80, wss: 443, ftp: 21, ftps: 990, sftp: 22, ssh: 22, scp: 22, tftp: 69, telnet: 23 },
    ...{ ldap: 389, ldaps: 636, rmi: 1099, dns: 53, iiop: 0, corbaname: 2809, nis: 0 },
    ...{ tcp: 0, udp: 0, ssl: 0, tls: 0, socks4: 1080, socks4a: 1080, socks5: 1080, socks5h: 1080 },
    ...{ git: 9418, svn: 3690, rsync: 873, smb: 445, redis: 6379, rediss: 6379, mysql: 3306, mongodb: 27017 },
    ...{ gopher: 70, dict: 2628, "git+https": 443, "git+ssh": 22, "svn+ssh": 22, "daemon+http": 0 },
    ...{ "stratum+tcp": 0, "stratum+ssl": 0, "stratum+tls": 0, "stratum1+tcp": 0, "stratum2+tcp": 0, stratum: 0 },
  }),
);

/** What names a machine in the network of the one who asks. */
const LOCAL_NAMES = /(?:^|\.)(?:local|localhost|localdomain|lan|internal|intranet|home|corp|private|arpa)$/;
const NAME = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.){1,126}(?:[a-z]{2,63}|xn--[a-z0-9-]{1,58}[a-z0-9])$/;
const MAX_NAME_LENGTH = 253;

/**
 * A host as it is compared: an address in dotted decimal, also of the other spellings that clients read (3221226219,
 * 0xc0.0.2.1), or a name in lower case and punycode.
 * @returns undefined for what is no name of more than one label and no routable IPv4 address.
 */
export function readHost(text: string): string | undefined {
  const named = text.replace(/\.$/, "").replace(/^\.+/, "").toLowerCase();
  if (named === "" || named.length > MAX_NAME_LENGTH || /[^\p{L}\p{N}\p{M}._-]/u.test(named)) return undefined;
  const isPlain = NAME.test(named) || isIpv4(named);
  if (!isPlain && !URL.canParse(`http://${named}/`)) return undefined;
  const host = isPlain ? named : new URL(`http://${named}/`).hostname;
  if (/^[\d.]+$/.test(host)) return isRoutableIpv4(host) ? host : undefined;
  return host.length <= MAX_NAME_LENGTH && NAME.test(host) && !LOCAL_NAMES.test(host) ? host : undefined;
}

const URL_PARTS = /^([a-z][a-z0-9+.-]{1,15}):\/{1,3}([^/?#]*)([^#]*)/i;

/** Reads a URL. A shell drops backslashes, so `http:/\/host` and `http://ho\st` are the same. */
export function readUrl(text: string): Target | undefined {
  const [, scheme = "", authority = "", rest = ""] = URL_PARTS.exec(text.replaceAll("\\", "")) ?? [];
  return PORTS.has(scheme.toLowerCase()) ? toTarget(scheme.toLowerCase(), authority, rest) : undefined;
}

/** Reads `host`, `host:port`, `user@host:port/path`. @param scheme of a client that is given none. */
export function readBareHost(text: string, scheme: string): Target | undefined {
  const [, authority = "", rest = ""] = /^([^/?#]+)([^#]*)/.exec(text.replaceAll("\\", "")) ?? [];
  return toTarget(scheme, authority, rest);
}

/** @param port undefined for the usual one of the scheme, as is a text that no shell knows, like `$PORT`. */
export function targetOf(scheme: string, host: string, port?: string, path = ""): Target | undefined {
  return toTarget(scheme, port === undefined ? host : `${host}:${port}`, path);
}

function toTarget(scheme: string, authority: string, rest: string): Target | undefined {
  const location = authority.slice(authority.lastIndexOf("@") + 1);
  const [, name = "", portText = ""] = /^([^:]*)(?::(.*))?$/s.exec(location) ?? [];
  const host = readHost(name);
  const isVariable = portText.startsWith("$");
  if (host === undefined || !(isVariable || /^\d{0,5}$/.test(portText)) || Number(portText) > 65_535) return undefined;
  const port = isVariable ? 0 : portText === "" ? (PORTS.get(scheme) ?? 0) : Number(portText);
  return { host, port, scheme, path: pathOf(scheme, rest) };
}

const PLAIN_PATH = /^\/[\w/.~+-]*$/;
const MAX_PATH_LENGTH = 1_024;

/** As a URL has it: without control characters and halves of surrogate pairs. */
function pathOf(scheme: string, rest: string): string {
  const isWeb = scheme === "http" || scheme === "https";
  if (rest === "") return isWeb ? "/" : "";
  if (PLAIN_PATH.test(rest) && !rest.includes("/.")) return rest.slice(0, MAX_PATH_LENGTH);
  const { pathname, search } = new URL(`http://h${/^[/?]/.test(rest) ? rest : `/${rest}`}`);
  return (pathname + search).slice(0, MAX_PATH_LENGTH);
}

/** Ends of file names that are domains, too: such a word alone is rather a file. */
const FILE_ENDS = new Set(
  (
    "sh bash py pl pm rb php js mjs ts lua so bin elf exe dll bat cmd ps vbs hta msi apk jar war class out img iso deb rpm " +
    "zip gz tgz tar xz bz rar txt md log cfg conf ini json xml yml yaml csv html htm asp aspx jsp cgi css png jpg jpeg gif " +
    "ico svg pdf doc arm mips mipsel mpsl ppc sparc spc sh4 arc x86 i686 c h o d rs go java pid key pem crt db sql bak old tmp"
  ).split(" "),
);

const ADDRESS_SPELLING = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\d{8,10}|0x[0-9a-f]{7,8}|0\d{10,11})$/i;

/**
 * Whether a word without a scheme is a host to a client: `evil.example/x`, `192.0.2.1:8080`. A word alone is one if
 * it stands where a host must stand and does not end like a file's name.
 */
export function looksLikeHost(word: string, isHostPlace: boolean): boolean {
  const [, name = "", port = "", path = ""] =
    /^(?:[^@/?#\s]*@)?([^:/?#\s]+)(:\d{1,5}|:\$\w+)?([/?#].*)?$/s.exec(word) ?? [];
  if (ADDRESS_SPELLING.test(name)) return true;
  const end = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  if (!name.includes(".") || !/^[\p{L}-]{2,}$|^xn--/u.test(end)) return false;
  return port !== "" || path.startsWith("/") || (isHostPlace && !FILE_ENDS.has(end));
}
