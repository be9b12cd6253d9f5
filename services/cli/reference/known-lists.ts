/**
 * What we know of a published network list that its own file does not say.
 * The key in the tables below is the list's id: its file name without `.json`, or its folder's name when the file is
 * called `list.json`.
 */
export type KnownList = {
  /** Who operates the addresses; where a list mixes operators, what they have in common. */
  readonly organization: string;
  readonly category: string;
  /**
   * "1" a service run by one operator for its own ends, safe to ignore;
   * "2" commonly legitimate, but strangers can send through it (rented servers, shared egress);
   * "3" listed without an operator that anybody has vetted.
   */
  readonly trustLevel: "1" | "2" | "3";
  /** When the same prefix stands in several lists, the highest wins. A longer prefix wins before that. */
  readonly priority: number;
  readonly description: string;
  readonly explanation: string;
  /** The operator's own public page; "" where we are not sure of one. */
  readonly reference: string;
};

const RENTED =
  "Any customer can run software here, so a scan says something about one tenant and nothing about the provider.";
const CDN_EDGE = "Its edge servers fetch content from the sites they serve, so they connect to many hosts all day.";
const MAILERS = "Mail servers connect to each other and look names up as a matter of routine.";
const RESOLVER = "Resolvers query name servers everywhere, and their answers to forged queries look like scans.";

/** Networks of well known services, whose traffic is ordinary business. */
export const KNOWN_BENIGN_LISTS: Readonly<Record<string, KnownList>> = {
  // One operator, one purpose
  googlebot: {
    organization: "Google",
    category: "crawler",
    trustLevel: "1",
    priority: 90,
    description: "Googlebot, the crawler behind Google Search.",
    explanation: "It fetches public web pages in order to index them.",
    reference: "https://developers.google.com/search/docs/crawling-indexing/verifying-googlebot",
  },
  "openai-gptbot": {
    organization: "OpenAI",
    category: "crawler",
    trustLevel: "1",
    priority: 90,
    description: "GPTBot, the crawler of OpenAI.",
    explanation: "It fetches public web pages to collect training text.",
    reference: "https://platform.openai.com/docs/bots",
  },
  "telegram-ips": {
    organization: "Telegram",
    category: "messaging",
    trustLevel: "1",
    priority: 85,
    description: "Servers of the Telegram messenger.",
    explanation: "Clients hold connections to it, and it calls bots and fetches link previews.",
    reference: "https://core.telegram.org/resources/cidr.txt",
  },
  "google-gmail-sending-ips": {
    organization: "Google",
    category: "mail",
    trustLevel: "1",
    priority: 85,
    description: "Servers from which Gmail and Google Workspace deliver mail.",
    explanation: MAILERS,
    reference: "https://support.google.com/a/answer/27642",
  },
  "microsoft-office365-ip": {
    organization: "Microsoft",
    category: "office",
    trustLevel: "1",
    priority: 80,
    description: "Microsoft 365: Exchange Online, SharePoint, Teams and their sign-in.",
    explanation: "Organisations that use these services exchange traffic with them all day.",
    reference: "https://learn.microsoft.com/en-us/microsoft-365/enterprise/urls-and-ip-address-ranges",
  },
  "microsoft-office365-cn": {
    organization: "21Vianet",
    category: "office",
    trustLevel: "1",
    priority: 80,
    description: "Office 365 as operated by 21Vianet in China.",
    explanation: "Organisations that use these services exchange traffic with them all day.",
    reference: "https://learn.microsoft.com/en-us/microsoft-365/enterprise/urls-and-ip-address-ranges-21vianet",
  },
  wikimedia: {
    organization: "Wikimedia Foundation",
    category: "web_service",
    trustLevel: "1",
    priority: 80,
    description: "Data centres of Wikipedia and its sister projects, with the servers lent to volunteers.",
    explanation: "It serves the wikis, and its tools check links and fetch sources from other sites.",
    reference: "https://wikitech.wikimedia.org/wiki/IP_and_AS_allocations",
  },
  apple: {
    organization: "Apple",
    category: "web_service",
    trustLevel: "1",
    priority: 50,
    description: "Address space assigned to Apple, among it 17.0.0.0/8.",
    explanation: "Push messages, mail, software updates and the crawler Applebot come from it.",
    reference: "https://support.apple.com/en-us/101555",
  },

  // One operator, many users behind it
  zscaler: {
    organization: "Zscaler",
    category: "security",
    trustLevel: "2",
    priority: 80,
    description: "Gateways through which companies send the web traffic of their staff.",
    explanation: "One address speaks for the employees of many companies, so blocking it blocks all of them.",
    reference: "https://config.zscaler.com/",
  },
  "icloud-private-relay": {
    organization: "Apple",
    category: "vpn",
    trustLevel: "2",
    priority: 80,
    description: "Exit addresses of iCloud Private Relay, run for Apple by several network operators.",
    explanation: "Many Apple customers share an exit, so an address stands for no single person.",
    reference: "https://developer.apple.com/support/prepare-your-network-for-icloud-private-relay/",
  },
  "check-host-net": {
    organization: "Check-Host",
    category: "monitoring",
    trustLevel: "2",
    priority: 85,
    description: "Nodes of a public service that tests from many countries whether a host can be reached.",
    explanation: "It pings and connects to whatever host a visitor enters, and does no more than that.",
    reference: "https://check-host.net/",
  },

  // Content delivery
  cloudflare: {
    organization: "Cloudflare",
    category: "cdn",
    trustLevel: "1",
    priority: 60,
    description: "Edge network of Cloudflare, reverse proxy of a large part of the web.",
    explanation: CDN_EDGE,
    reference: "https://www.cloudflare.com/ips/",
  },
  fastly: {
    organization: "Fastly",
    category: "cdn",
    trustLevel: "1",
    priority: 60,
    description: "Edge network of Fastly.",
    explanation: CDN_EDGE,
    reference: "https://api.fastly.com/public-ip-list",
  },
  akamai: {
    organization: "Akamai",
    category: "cdn",
    trustLevel: "1",
    priority: 60,
    description: "Edge network of Akamai, as far as its routing announcements show it.",
    explanation: CDN_EDGE,
    reference: "https://www.akamai.com/",
  },
  "bunny-net": {
    organization: "bunny.net",
    category: "cdn",
    trustLevel: "1",
    priority: 60,
    description: "Edge servers of bunny.net.",
    explanation: CDN_EDGE,
    reference: "https://bunny.net/",
  },
  stackpath: {
    organization: "StackPath",
    category: "cdn",
    trustLevel: "3",
    priority: 15,
    description: "Former edge network of StackPath (Highwinds), which closed in 2024.",
    explanation: "The list outlived its operator, so a match says who once held the address, not who does now.",
    reference: "",
  },

  // Mail, certificates and resolvers of many operators
  "smtp-sending-ips": {
    organization: "Mail providers (sending)",
    category: "mail",
    trustLevel: "2",
    priority: 70,
    description: "Servers from which large mail providers and mailing services deliver mail.",
    explanation: MAILERS,
    reference: "",
  },
  "smtp-receiving-ips": {
    organization: "Mail providers (receiving)",
    category: "mail",
    trustLevel: "2",
    priority: 65,
    description: "Servers that accept mail for large mail providers.",
    explanation: MAILERS,
    reference: "",
  },
  "crl-ip": {
    organization: "Certificate authorities",
    category: "certificate_authority",
    trustLevel: "2",
    priority: 55,
    description: "Hosts that publish certificate revocation lists and answer OCSP, often on shared CDN addresses.",
    explanation: "Browsers and servers ask them whether a certificate is still valid.",
    reference: "",
  },
  "public-dns-v4": {
    organization: "Public DNS resolver",
    category: "public_dns",
    trustLevel: "3",
    priority: 20,
    description: "IPv4 resolvers that answer anybody, from the large public services to forgotten home routers.",
    explanation: RESOLVER,
    reference: "",
  },
  "public-dns-v6": {
    organization: "Public DNS resolver",
    category: "public_dns",
    trustLevel: "3",
    priority: 20,
    description: "IPv6 resolvers that answer anybody.",
    explanation: RESOLVER,
    reference: "",
  },

  // Clouds and hosting
  "ovh-cluster": {
    organization: "OVHcloud",
    category: "cloud",
    trustLevel: "2",
    priority: 40,
    description: "Shared web hosting clusters of OVHcloud.",
    explanation: "Each address carries the sites of many customers, any of which may have been broken into.",
    reference: "https://www.ovhcloud.com/",
  },
  "amazon-aws": {
    organization: "Amazon Web Services",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Public address ranges of Amazon Web Services.",
    explanation: RENTED,
    reference: "https://docs.aws.amazon.com/vpc/latest/userguide/aws-ip-ranges.html",
  },
  "google-gcp": {
    organization: "Google Cloud",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Addresses that customers of Google Cloud can rent.",
    explanation: RENTED,
    reference: "https://www.gstatic.com/ipranges/cloud.json",
  },
  "microsoft-azure": {
    organization: "Microsoft Azure",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Data centres of the public Microsoft Azure cloud.",
    explanation: RENTED,
    reference: "https://azure.microsoft.com/",
  },
  "microsoft-azure-china": {
    organization: "Microsoft Azure China",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Data centres of Azure in China, operated by 21Vianet.",
    explanation: RENTED,
    reference: "https://www.azure.cn/",
  },
  "microsoft-azure-germany": {
    organization: "Microsoft Azure Germany",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Data centres of the separate German Azure cloud, which closed in 2021.",
    explanation: RENTED,
    reference: "",
  },
  "microsoft-azure-us-gov": {
    organization: "Microsoft Azure Government",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Data centres of the Azure cloud for public bodies of the United States.",
    explanation: "Public bodies and their contractors run their own software here, so a scan concerns one tenant.",
    reference: "https://azure.microsoft.com/en-us/explore/global-infrastructure/government/",
  },
  "oracle-oci": {
    organization: "Oracle Cloud",
    category: "cloud",
    trustLevel: "2",
    priority: 30,
    description: "Public address ranges of Oracle Cloud Infrastructure.",
    explanation: RENTED,
    reference: "https://docs.oracle.com/en-us/iaas/Content/General/Concepts/addressranges.htm",
  },
  // Below Azure: hosted runners are Azure machines, so GitHub's list repeats hundreds of Azure's own prefixes.
  github: {
    organization: "GitHub",
    category: "development",
    trustLevel: "2",
    priority: 25,
    description: "Web, Git, webhook and Actions runner addresses of GitHub.",
    explanation: "Webhooks call the servers of its users, and anybody may run a program on an Actions runner.",
    reference: "https://api.github.com/meta",
  },
};

/** An operator and its lists. `published`: the operator's own ranges. `seen`: sources observed by a telescope. */
type Operator = Pick<KnownList, "organization" | "category" | "trustLevel" | "description" | "reference"> & {
  readonly published?: readonly string[];
  readonly seen?: readonly string[];
  /** Only where the sentence that fits most operators would be wrong. */
  readonly explanation?: string;
};

const OPERATORS: readonly Operator[] = [
  {
    published: ["alphastrike-scanning"],
    seen: ["alphastrike-research-nt-scanning"],
    organization: "Alpha Strike Labs",
    category: "security_vendor",
    trustLevel: "1",
    description: "German security company that maps services on the whole Internet.",
    reference: "https://www.alphastrike.io/",
  },
  {
    seen: ["bufferover-nt-scanning"],
    organization: "BufferOver.run",
    category: "search_engine",
    trustLevel: "1",
    description: "Collects TLS certificates and host names and makes them searchable.",
    reference: "https://tls.bufferover.run/",
  },
  {
    published: ["censys-scanning"],
    organization: "Censys",
    category: "search_engine",
    trustLevel: "1",
    description: "Search engine for hosts and certificates, grown out of the University of Michigan.",
    reference: "https://censys.com/",
  },
  {
    published: ["circl-security-scanning", "circl-ssh-scanning"],
    organization: "CIRCL",
    category: "research",
    trustLevel: "1",
    description: "Computer Incident Response Center Luxembourg, which checks exposed services.",
    reference: "https://www.circl.lu/",
  },
  {
    seen: ["coalition-signals-intelligence-nt-scanning"],
    organization: "Coalition",
    category: "security_vendor",
    trustLevel: "1",
    description: "Cyber insurer that surveys exposed services to judge risk, with the engine of BinaryEdge.",
    reference: "https://www.coalitioninc.com/",
  },
  {
    seen: ["cybergreen-nt-scanning"],
    organization: "CyberGreen Institute",
    category: "research",
    trustLevel: "1",
    description: "Non-profit that counts servers open to abuse as amplifiers.",
    reference: "https://cybergreen.net/",
  },
  {
    seen: ["cyberresilience-nt-scanning"],
    organization: "CyberResilience",
    category: "security_vendor",
    trustLevel: "3",
    description: "Port scans from rented servers named under cyberresilience.io.",
    reference: "https://www.cyberresilience.io/",
  },
  {
    seen: ["cypex-nt-scanning"],
    organization: "Cypex",
    category: "security_vendor",
    trustLevel: "3",
    description: "Port scans from rented servers named scan.cypex.ai.",
    reference: "https://cypex.ai/scanning",
  },
  {
    seen: ["f6-nt-scanning"],
    organization: "F6",
    category: "security_vendor",
    trustLevel: "3",
    description: "Scans from hosts named scan.f6.security.",
    reference: "",
  },
  {
    seen: ["internet-census-nt-scanning"],
    organization: "Internet Census Group",
    category: "security_vendor",
    trustLevel: "1",
    description: "Survey of exposed services led by the security rating company Bitsight.",
    reference: "https://www.internet-census.org/",
  },
  {
    published: ["internetcleanup-scanner"],
    organization: "Internet Cleanup Foundation",
    category: "research",
    trustLevel: "1",
    description: "Dutch foundation that measures and publishes the basic security of public bodies.",
    reference: "https://internetcleanup.foundation/scaninfo/",
  },
  {
    seen: ["intrinsec-nt-scanning"],
    organization: "Intrinsec",
    category: "security_vendor",
    trustLevel: "1",
    description: "French security company that watches exposed systems.",
    reference: "https://www.intrinsec.com/",
  },
  {
    seen: ["ipinfo-nt-scanning"],
    organization: "IPinfo",
    category: "research",
    trustLevel: "1",
    description: "Supplier of IP address data that measures the Internet to locate addresses.",
    reference: "https://ipinfo.io/",
  },
  {
    seen: ["ipip-nt-scanning"],
    organization: "IPIP.NET",
    category: "research",
    trustLevel: "1",
    description: "Chinese supplier of IP address location data.",
    reference: "https://www.ipip.net/",
  },
  {
    published: ["modat-scanner"],
    seen: ["modat-nt-scanning"],
    organization: "Modat",
    category: "search_engine",
    trustLevel: "1",
    description: "Dutch search engine for devices on the Internet.",
    reference: "https://www.modat.io/scanning",
  },
  {
    published: ["netsecscan-scanning"],
    seen: ["netsecscan-nt-scanning"],
    organization: "NetSecScan",
    category: "research",
    trustLevel: "3",
    description: "Scanning hosts named under netsecscan.net, a project that presents itself as research.",
    reference: "http://netsecscan.net/",
  },
  {
    published: ["onyphe-scanner"],
    seen: ["onyphe-nt-scanning"],
    organization: "ONYPHE",
    category: "search_engine",
    trustLevel: "1",
    description: "French search engine for exposed services and cyber defence data.",
    reference: "https://www.onyphe.io/",
  },
  {
    published: ["palo-alto-networks-cortex-cloud", "palo-alto-networks-cortex-xpanse"],
    organization: "Palo Alto Networks",
    category: "security_vendor",
    trustLevel: "1",
    description: "Cortex Xpanse and Cortex Cloud, which look for exposed systems across the Internet and in clouds.",
    reference: "https://www.paloaltonetworks.com/cortex/cortex-xpanse",
  },
  {
    seen: ["probethenet-nt-scanning"],
    organization: "ProbeTheNet",
    category: "research",
    trustLevel: "3",
    description: "Scanning project that explains itself at probethenet.com.",
    reference: "http://probethenet.com/",
  },
  {
    seen: ["rapid7-nt-scanning"],
    organization: "Rapid7",
    category: "security_vendor",
    trustLevel: "1",
    description: "Security company whose Project Sonar surveys the whole Internet.",
    reference: "https://opendata.rapid7.com/",
  },
  {
    seen: ["research-scanner-nt-scanning"],
    organization: "research-scanner.com",
    category: "research",
    trustLevel: "3",
    description: "Scans from rented servers named under research-scanner.com.",
    reference: "http://research-scanner.com/",
  },
  {
    published: ["shadowforce-scanning"],
    seen: ["shadowforce-nt-scanning"],
    organization: "ShadowForce",
    category: "security_vendor",
    trustLevel: "3",
    description: "Scanning hosts named under shadowforce.io.",
    reference: "https://shadowforce.io/",
  },
  {
    published: ["shadowserver"],
    seen: ["shadowserver-nt-scanning"],
    organization: "Shadowserver Foundation",
    category: "research",
    trustLevel: "1",
    description: "Non-profit that scans daily and reports exposed and infected hosts to their network owners for free.",
    reference: "https://www.shadowserver.org/",
  },
  {
    published: ["shodan-scanning"],
    seen: ["shodan-nt-scanning"],
    organization: "Shodan",
    category: "search_engine",
    trustLevel: "1",
    description: "Search engine for devices and services on the Internet.",
    reference: "https://www.shodan.io/",
  },
  {
    seen: ["skipa-nt-scanning"],
    organization: "CyberOK",
    category: "security_vendor",
    trustLevel: "3",
    description: "SKIPA, the attack surface monitoring of the Russian company CyberOK.",
    reference: "https://www.cyberok.ru/policy.html",
  },
  {
    seen: ["stretchoid-nt-scanning"],
    organization: "Stretchoid",
    category: "research",
    trustLevel: "3",
    description: "Long-running scans by an operator that offers an opt-out page but does not say who it is.",
    reference: "http://www.stretchoid.com/",
  },
  {
    published: ["tenable-cloud-ipv4", "tenable-cloud-ipv6"],
    organization: "Tenable",
    category: "security_vendor",
    trustLevel: "1",
    description: "Cloud sensors that look for vulnerabilities on the systems of Tenable's customers.",
    explanation: "A customer orders each scan; one that nobody of yours ordered is worth a question to Tenable.",
    reference: "https://docs.tenable.com/vulnerability-management/Content/Settings/Sensors/CloudSensors.htm",
  },
  {
    published: ["umich-cse-connection-attempts"],
    organization: "University of Michigan",
    category: "research",
    trustLevel: "1",
    description: "Internet measurement by the computer science department, where ZMap was made.",
    reference: "https://cse.engin.umich.edu/about/resources/connection-attempts/",
  },
];

const IDENTIFIED = "It probes many hosts alike and says who it is, so a visit singles nobody out.";
const UNVETTED = "It scans everybody alike under a name of its own, but nobody has vetted its operator for this list.";

/** Published ranges (80) beat single sources seen by a telescope (60): the latter may have changed hands since. */
const ofOperator = ({ published = [], seen = [], ...operator }: Operator): [string, KnownList][] => {
  const known = { explanation: operator.trustLevel === "3" ? UNVETTED : IDENTIFIED, ...operator };
  return [
    ...published.map((id): [string, KnownList] => [id, { ...known, priority: 80 }]),
    ...seen.map((id): [string, KnownList] => [id, { ...known, priority: 60 }]),
  ];
};

/** Networks of those who scan the whole Internet and can be named: actors, not benign services. */
export const KNOWN_ACTOR_LISTS: Readonly<Record<string, KnownList>> = Object.fromEntries(OPERATORS.flatMap(ofOperator));
