import { pick, type Random, weightedPick } from "../random.ts";
import type { Content } from "./content.ts";
import type { Example } from "./examples.ts";
import { sshLogins, telnetLogins } from "./logins.ts";

/** What one kind of scanner is after. */
export type Profile = {
  readonly name: string;
  /** Its weight among the scanners in rented networks, and among those at home and at work. */
  readonly weights: readonly [hosting: number, home: number];
  /** A scanner's own choice: it sends these, the first most often. */
  readonly draw: (at: number) => readonly Content[];
  /** Who sends it also shows as ZMap to sensors that see packets. */
  readonly isZmap?: boolean;
};

/** What web scanners of all kinds ask for first; the rest of the catalogue follows. */
const POPULAR = [
  ...[
    "web-scanner",
    "env-scanner",
    "git-config-scanner",
    "phpunit-rce-attempt",
    "boaform-scanner",
    "phpmyadmin-scanner",
  ],
  ...[
    "spring-boot-actuator-scanner",
    "thinkphp-code-execution-attempt",
    "apache-path-traversal-attempt",
    "solr-scanner",
  ],
  ...["vpn-gateway-scanner", "open-proxy-scanner", "hnap-scanner", "credential-file-scanner", "cgi-bin-scanner"],
];
const WEB_PORTS = [80, 80, 80, 443, 8080, 8443, 8000, 81];
const HOSTS = ["198.51.100.10", "198.51.100.24", "203.0.113.80", "shop.example", "www.example"];
const AGENTS = [
  ...["Go-http-client/1.1", "Mozilla/5.0 zgrab/0.x", "python-requests/2.31.0", "curl/7.88.1", "libredtail-http"],
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/106.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/85.0.4183.121 Safari/537.36",
  "Mozilla/5.0 (Linux; Android 8.1; EML-L29) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Mobile Safari/537.36",
];
/** JA3 as a Suricata sensor saw them most often, with a JA4 of the same kind of client. */
const CLIENT_HELLOS = [
  ["fb3226dc9914327068ad08e62340260a", "t12d210700_76e208dd3e22_2dae41c691ec"],
  ["f0a8f03cd88db5395e12077d3e4aa1fc", "t12i190700_d83cc789557e_16bbda4055b2"],
  ["5da7a7f4f3a52d11d40ec73c81b18897", "t12d120600_e7c285222651_7f4e3a3b5d2a"],
  ["cba7f34191ef2379c1325641f6c6c4f4", "t13i190900_9dc949149365_97f8aa674fd9"],
  ["20c9baf81bfe96ff89722899e75d0190", "t13d1516h2_8daaf6152771_02713d6af862"],
  ["35870f79de73879aa5d4929e9703dcec", "t13d1715h2_5b57614c22b0_3d5424432f57"],
  ["c522eb9ff189759208ae84f1537a9dbb", "t10d070600_c50f5591e341_1a3805c3aa63"],
] as const;

const LISTS = 80;

/** @param examples of the starter catalogue: together the lists of all profiles hold each of them. */
export function makeProfiles(examples: readonly Example[], random: Random): readonly Profile[] {
  const inFolders = (test: (folder: string) => boolean) =>
    examples.filter(({ folder }) => test(folder)).map(({ content }) => content);
  const of = (...slugs: string[]) => examples.filter(({ slug }) => slugs.includes(slug)).map(({ content }) => content);
  const popular = POPULAR.flatMap((slug) => of(slug).slice(0, 2));
  const web = inFolders((folder) => /^(web|cves-|crawlers|tools|research)/.test(folder)).filter(({ http }) => http);
  const ports = inFolders((folder) => folder.startsWith("ports-"));
  const isIndustrial = (folder: string) => folder === "ports-industrial";
  const rest = examples
    .filter(({ folder, content }) => !/^(web|cves-|ports-)/.test(folder) && !(content.http && folder === "tools"))
    .map(({ content }) => content);
  const sweeps = lists(ports, 14, random);
  const profile = (
    name: string,
    weights: Profile["weights"],
    choice: readonly (readonly [readonly Content[], number])[],
    more: Pick<Profile, "isZmap"> = {},
  ): Profile => ({ name, weights, draw: weightedPick(choice), ...more });
  const evenly = (choice: readonly (readonly Content[])[]) => choice.map((list) => [list, 1] as const);
  const single = (...choice: Content[][]) => evenly(choice);
  return [
    profile("ssh", [26, 18], sshLogins(random)),
    profile("telnet", [3, 26], telnetLogins(random)),
    profile("smb", [5, 18], single(of("smb-scanner"), of("smb-scanner", "smbv1-scanner", "eternalblue"))),
    profile("web", [20, 8], evenly(webLists(popular, web, random))),
    profile("sweep", [10, 2], evenly(sweeps), { isZmap: true }),
    profile("mssql", [5, 5], single(of("mssql-scanner"), of("mssql-bruteforcer", "mssql-scanner"))),
    profile("databases", [5, 2], single(of("mysql-bruteforcer", "mysql-scanner", "postgresql-bruteforcer"))),
    profile("rdp", [6, 4], single(of("rdp-scanner"), of("rdp-bruteforcer", "rdp-scanner"))),
    profile("redis", [3, 1], single(of("redis-scanner", "redis-reconnaissance", "redis-rce-attempt"))),
    profile(
      "docker",
      [3, 0],
      single(of("docker-api-scanner", "docker-scanner", "docker-api-container-creation-attempt")),
    ),
    profile("sip", [4, 1], single(of("sip-options-scanner", "sip-scanner", "sipvicious", "sip-bruteforcer"))),
    profile("vnc", [2, 2], single(of("vnc-scanner"), of("vnc-bruteforcer", "vnc-scanner"))),
    profile("tls", [6, 3], evenly(tlsLists(random)), { isZmap: true }),
    profile("packets", [2, 4], single(of("icmp-ping"), of("dns-scanner", "ntp-scanner", "ssdp-scanner"))),
    profile("odd", [5, 5], evenly(oddLists(random))),
    profile("industry", [1, 0], evenly(lists(inFolders(isIndustrial), 4, random)), { isZmap: true }),
    profile("catalogue", [4, 3], evenly(lists(rest, 6, random))),
  ];
}

/** Lists of some of the contents each, in an order of their own, which together have all. */
function lists(contents: readonly Content[], length: number, random: Random): Content[][] {
  const count = Math.max(LISTS, Math.ceil(contents.length / length));
  return Array.from({ length: count }, (_, list) =>
    Array.from({ length }, (_, place) => {
      const next = contents[list * length + place];
      return next ?? pick(contents, random());
    }),
  );
}

/** Each scanner has its user agent, its ports and the hosts that it asks for, and asks for popular things first. */
function webLists(popular: readonly Content[], web: readonly Content[], random: Random): Content[][] {
  return lists(web, 8, random).map((own) => {
    const agent = pick(AGENTS, random());
    const first = Array.from({ length: 4 }, () => pick(popular, random() ** 1.5));
    return [...first, ...own].map((content) => {
      const { http } = content;
      // Rules look at the port of some requests: only the usual one of the web is replaced.
      const destination_port = content.destination_port === 80 ? pick(WEB_PORTS, random()) : content.destination_port;
      const { tls } = destination_port === 443 || destination_port === 8443 ? clientHello(random) : {};
      const host = http?.host ?? pick(HOSTS, random());
      // Clients name no server that they know by its address alone.
      const hello = tls && { tls: { ...tls, ...(/^(?=.*[a-z])[\w.-]+$/i.test(host) && { sni: host }) } };
      return { ...content, destination_port, ...hello, http: { ...http, host, user_agent: http?.user_agent ?? agent } };
    });
  });
}

/** Ports that no rule knows. */
function oddLists(random: Random): Content[][] {
  const transport = () => (random() < 0.8 ? "tcp" : "udp");
  return Array.from({ length: LISTS }, () =>
    Array.from({ length: 6 }, () => ({
      transport: transport(),
      destination_port: 1_024 + Math.floor(random() * 60_000),
    })),
  );
}

function tlsLists(random: Random): Content[][] {
  return Array.from({ length: LISTS }, () => {
    const hello = clientHello(random);
    return [443, 443, 8443, 993].map((destination_port) => ({
      ...{ transport: "tcp" as const, destination_port, application: "tls" },
      ...hello,
    }));
  });
}

function clientHello(random: Random): Pick<Content, "tls"> {
  const [ja3, ja4] = pick(CLIENT_HELLOS, random() ** 2.5);
  return { tls: { ja3, ja4 } };
}
