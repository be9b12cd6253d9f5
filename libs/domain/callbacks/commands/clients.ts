import { looksLikeHost, readBareHost, readUrl, type Target, targetOf } from "../host.ts";

/** A program that fetches or connects: reads whom it calls from its arguments. */
type Client = (args: readonly string[], isCommand: boolean) => readonly (Target | undefined)[];

type Arguments = {
  readonly positional: readonly string[];
  readonly options: ReadonlyMap<string, string>;
};

/**
 * Tells options, their values and the other arguments apart, as getopt does.
 * @param short the letters of options that take a value
 * @param long the names of long options that take one in a word of its own
 */
function readArguments(args: readonly string[], short: string, long: ReadonlySet<string> = NO_NAMES): Arguments {
  const positional: string[] = [];
  const options = new Map<string, string>();
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? "";
    if (arg === "--" || arg === "-" || !arg.startsWith("-")) {
      if (arg !== "--") positional.push(arg);
      continue;
    }
    if (arg.startsWith("--")) {
      const [, name = "", value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
      options.set(name, value ?? (long.has(name) ? (args[++index] ?? "") : ""));
      continue;
    }
    for (let letter = 1; letter < arg.length; letter++) {
      const name = arg[letter] ?? "";
      if (!short.includes(name)) {
        options.set(name, "");
        continue;
      }
      options.set(name, arg.slice(letter + 1) || (args[++index] ?? ""));
      break;
    }
  }
  return { positional, options };
}

const NO_NAMES: ReadonlySet<string> = new Set();
const namesOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** A URL, or a host that the client completes with its scheme. */
const readTarget = (word: string, scheme: string, isHostPlace: boolean): Target | undefined =>
  readUrl(word) ?? (looksLikeHost(word, isHostPlace) ? readBareHost(word, scheme) : undefined);

const CURL_OPTIONS = namesOf(
  "output user-agent referer header data data-raw data-binary data-urlencode data-ascii json form form-string request user " +
    "proxy preproxy proxy-user proxy-header socks4 socks4a socks5 socks5-hostname max-time connect-timeout retry retry-delay " +
    "retry-max-time cookie cookie-jar upload-file url resolve connect-to doh-url cacert capath cert cert-type key key-type " +
    "pass interface range limit-rate max-redirs max-filesize write-out dump-header config local-port speed-time speed-limit " +
    "stderr trace trace-ascii unix-socket ciphers tls-max time-cond quote output-dir create-file-mode dns-servers oauth2-bearer",
);
const CURL_PROXIES = ["x", "proxy", "preproxy", "socks4", "socks4a", "socks5", "socks5-hostname"];

const curl: Client = (args, isCommand) => {
  const { positional, options } = readArguments(args, "AbcCdDeEFHKmoPQrtTuUwxXyYz", CURL_OPTIONS);
  const proxies = CURL_PROXIES.map((name) => {
    const [proxy, scheme] = [options.get(name), name.startsWith("socks") ? name.replace("-hostname", "") : "http"];
    return proxy === undefined ? undefined : readTarget(proxy, scheme, true);
  });
  const [first, ...rest] = positional;
  return [
    readTarget(options.get("url") ?? "", "http", true),
    ...(first === undefined ? [] : [readTarget(first, "http", isCommand)]),
    ...rest.map((word) => readTarget(word, "http", false)),
    ...proxies,
  ];
};

const WGET_OPTIONS = namesOf(
  "output-document output-file append-output input-file base tries timeout dns-timeout connect-timeout read-timeout wait " +
    "waitretry quota bind-address limit-rate directory-prefix user password user-agent header referer post-data post-file " +
    "body-data body-file method load-cookies save-cookies level accept reject domains exclude-domains execute " +
    "ca-certificate ca-directory certificate private-key default-page http-user http-password ftp-user ftp-password cut-dirs",
);

const wget: Client = (args, isCommand) => {
  // In exploits, `wget -g HOST -l LOCAL -r REMOTE` is written like tftp.
  if (args.includes("-g")) {
    const { positional, options } = readArguments(args, "lrb");
    return positional.slice(0, 1).map((word) => withPath(readTarget(word, "http", true), options.get("r")));
  }
  const { positional, options } = readArguments(args, "oaeiBtOTwQPUlARDIX", WGET_OPTIONS);
  const [first, ...rest] = positional;
  return [
    readUrl(options.get("i") ?? options.get("input-file") ?? ""),
    ...(first === undefined ? [] : [readTarget(first, "http", isCommand)]),
    ...rest.map((word) => readTarget(word, "http", false)),
  ];
};

const withPath = (target: Target | undefined, path: string | undefined): Target | undefined =>
  target === undefined || !path ? target : targetOf(target.scheme, target.host, String(target.port), slashed(path));
const slashed = (path: string) => (path.startsWith("/") ? path : `/${path}`);
const portIn = (word: string | undefined) => (/^\d{1,5}$/.test(word ?? "") ? word : undefined);

/** `-g -r FILE HOST [PORT]` of busybox, `HOST [PORT] -c get FILE` of Linux, `-i HOST GET FILE` of Windows. */
const tftp: Client = (args) => {
  const command = args.findIndex((arg) => /^(?:get|put)$/i.test(arg));
  const { positional, options } = readArguments(args, "lrbm");
  const [host, port] = positional;
  if (host === undefined) return [];
  const file = options.get("r") ?? (command === -1 ? undefined : args[command + 1]);
  return [targetOf("tftp", host, portIn(port), file === undefined ? "" : slashed(file))];
};

/** `ftpget -u USER -p PASSWORD -P PORT HOST LOCAL REMOTE`, where one file name stands for both. */
const ftpget: Client = (args) => {
  const { positional, options } = readArguments(args, "upP");
  const [host, local, remote = local] = positional;
  return [host && targetOf("ftp", host, portIn(options.get("P")), remote === undefined ? "" : slashed(remote))].map(
    (target) => target || undefined,
  );
};

/** A client that takes a host, and a port in a word of its own. */
const hostAndPort =
  (
    scheme: string,
    short: string,
    isListener: (options: ReadonlyMap<string, string>) => boolean = () => false,
  ): Client =>
  (args) => {
    const { positional, options } = readArguments(args, short);
    const [host = "", port] = positional;
    if (isListener(options)) return [];
    return [readUrl(host) ?? targetOf(options.has("u") && scheme === "tcp" ? "udp" : scheme, host, portIn(port))];
  };

const nc = hostAndPort("tcp", "psweicgGmoqTxXI", (options) => options.has("l"));

/** `open HOST PORT` in a script of ftp. */
const open: Client = ([host = "", port]) =>
  /^\d+(?:\.\d+){3}$/.test(host) || portIn(port) !== undefined ? [targetOf("ftp", host, portIn(port))] : [];

const ssh: Client = (args) => {
  const { positional, options } = readArguments(args, "pilLRDoFbcmEJwWSeIBOQ");
  const [host = ""] = positional;
  const name = host.slice(host.indexOf("@") + 1);
  return [readUrl(host) ?? targetOf("ssh", name, portIn(options.get("p")))];
};

/** `HOST:PATH` among the arguments, or a URL. */
const copies =
  (scheme: string, short: string): Client =>
  (args) => {
    const { positional, options } = readArguments(args, short, namesOf("port rsh password-file"));
    const port = portIn(options.get("P") ?? options.get("port"));
    return positional.map((word) => {
      const [, host, path = ""] = /^(?:[^@/:\s]*@)?([^@/:\s]+)::?(?!\/\/)(.*)$/s.exec(word) ?? [];
      return host === undefined ? readUrl(word) : targetOf(scheme, host, port, path === "" ? "" : slashed(path));
    });
  };

/** `TCP:HOST:PORT`, `OPENSSL:HOST:PORT,verify=0`. */
const socat: Client = (args) =>
  args.map((arg) => {
    const [, kind = "", host = "", port] =
      /^(tcp|udp|openssl|ssl|sctp)[46]?(?:-connect)?:([^:,]+):(\d{1,5})(?:,|$)/i.exec(arg) ?? [];
    return host === "" ? undefined : targetOf(/^udp/i.test(kind) ? "udp" : "tcp", host, port);
  });

/** `SLAVEOF HOST PORT` of Redis. */
const replicaOf: Client = ([host = "", port]) => (portIn(port) === undefined ? [] : [targetOf("redis", host, port)]);

/** Clients of URLs, wherever these stand in an argument: `/i:http://..`. */
const urls: Client = (args) =>
  args.filter((_arg, index) => !TOLD_OPTION.test(args[index - 1] ?? "")).map((arg) => urlIn(arg));

/** Options of PowerShell whose values are told to the server. */
const TOLD_OPTION = /^-(?:useragent|headers|body|outfile)$/i;

/** A host with a path, too. */
const urlsOrHosts: Client = (args) => args.map((word) => urlIn(word) ?? readTarget(word, "http", false));

const openssl: Client = (args) => {
  const [host = "", port] = (args[args.indexOf("-connect") + 1] ?? "").split(":");
  return args.includes("-connect") ? [targetOf("tls", host, portIn(port))] : [];
};

/** The URL in a word, at its beginning or after a mark. */
export function urlIn(word: string): Target | undefined {
  const [, url] = /(?:^|[=:,("'[|])((?!\d)[a-z\d+.-]{2,15}:\/[^"'\s)]*)/i.exec(word) ?? [];
  return url === undefined ? undefined : readUrl(url);
}

export const CLIENTS: ReadonlyMap<string, Client> = new Map<string, Client>([
  ["curl", curl],
  ["wget", wget],
  ["wget2", wget],
  ["tftp", tftp],
  ["atftp", tftp],
  ["ftpget", ftpget],
  ["ftpput", ftpget],
  ["ftp", hostAndPort("ftp", "sPo")],
  ["lftp", hostAndPort("ftp", "upef")],
  ["ncftpget", hostAndPort("ftp", "upPo")],
  ["open", open],
  ["nc", nc],
  ["ncat", nc],
  ["netcat", nc],
  ["telnet", hostAndPort("telnet", "lebnX")],
  ["ssh", ssh],
  ["sftp", ssh],
  ["scp", copies("scp", "PiolFcSJDX")],
  ["rsync", copies("rsync", "efMTB")],
  ["git", copies("ssh", "cCbo")],
  ["socat", socat],
  ["openssl", openssl],
  ["slaveof", replicaOf],
  ["replicaof", replicaOf],
  ["migrate", replicaOf],
  ...["fetch", "aria2c", "axel", "lynx", "links", "elinks", "w3m", "http", "https", "lwp-request", "lwp-download"].map(
    (name) => [name, urlsOrHosts] as const,
  ),
  ...[
    ...["powershell", "pwsh", "invoke-webrequest", "invoke-restmethod", "iwr", "irm", "start-bitstransfer", "iex"],
    ...["certutil", "bitsadmin", "mshta", "regsvr32", "rundll32", "msiexec", "cscript", "wscript", "svn", "hg", "pip"],
    ...[
      "pip3",
      "npm",
      "go",
      "java",
      "xmrig",
      "minerd",
      "cpuminer",
      "msxsl",
      "installutil",
      "hh",
      "lwp-mirror",
      "snarf",
    ],
  ].map((name) => [name, urls] as const),
]);

const MAX_PROGRAM_LENGTH = 128;

/** The name of a program, without its folder and in lower case. A text that is too long for one has none. */
export function nameOfProgram(word: string): string {
  if (word.length > MAX_PROGRAM_LENGTH || word.includes("://")) return "";
  const name = word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1).toLowerCase();
  return name.endsWith(".exe") ? name.slice(0, -4) : name;
}
