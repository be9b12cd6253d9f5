/** Where a feed is read, and with which token. */
export type RecipeFeed = {
  /** Of the service, without a slash at its end. */
  readonly url: string;
  readonly name: string;
  /** By which TAXII knows it. */
  readonly id: string;
  readonly token: string;
};

/** What to paste into a consumer of feeds, so that it reads one. */
export type Recipe = {
  readonly consumer: string;
  /** Where the lines go. */
  readonly destination: string;
  lines(feed: RecipeFeed): string;
};

/** The most characters of a name there. */
const MAX_NAME = { nftables: 64, ipset: 27, fortios: 35, panos: 31 } as const;

/** A name of its own in a consumer: a feed's alone may be a word of the consumer's language. */
const objectName = ({ name }: RecipeFeed, consumer: keyof typeof MAX_NAME) =>
  `noisefloor-${name}`.slice(0, MAX_NAME[consumer]);

/** @param form of the list, and its parameters. */
const listUrl = ({ url, name }: RecipeFeed, form: string) => `${url}/v3/feeds/${name}.${form}`;
/** For consumers that can send no header. */
const tokenUrl = (feed: RecipeFeed, form: string) => `${listUrl(feed, form)}?token=${feed.token}`;
const curl = ({ token }: RecipeFeed, url: string) => `curl -sSf -m 60 -H 'key: ${token}' '${url}'`;
/** Into a file that a download which breaks off leaves as it is. */
const curlInto = (feed: RecipeFeed, url: string, file: string) =>
  `${curl(feed, url)} -o ${file}.tmp && mv ${file}.tmp ${file}`;
/**
 * Loads a list, or where that fails the last one that was loaded, and then ends with a failure: whatever was flushed
 * meanwhile is there again. @param load the command that loads a file.
 */
const loadLatest = (feed: RecipeFeed, url: string, file: string, load: (file: string) => string) =>
  `${curl(feed, url)} -o ${file}.tmp && test -s ${file}.tmp && ${load(`${file}.tmp`)} && mv ${file}.tmp ${file} || { ${load(file)}; false; }`;

/** The same alias in both; only the menus differ. */
const urlTable = (menu: string) => ({
  destination: `${menu}: a new alias of the type "URL Table (IPs)" with this URL, refreshed each day at the latest; then a rule that blocks the alias as source`,
  lines: (feed: RecipeFeed) => tokenUrl(feed, "txt"),
});

const TIMER = "a shell as root, and a timer that runs it every minute: it makes all that is missing";

export const RECIPES: readonly Recipe[] = [
  {
    consumer: "nftables",
    destination: TIMER,
    lines(feed) {
      const set = objectName(feed, "nftables").replaceAll("-", "_");
      const url = listUrl(feed, `nft?set=${set}&hook=prerouting`);
      return loadLatest(feed, url, `/var/lib/${set}.nft`, (file) => `nft -f ${file}`);
    },
  },
  {
    consumer: "ipset",
    destination: `${TIMER}. FORWARD instead of INPUT blocks what the machine passes on`,
    lines(feed) {
      const set = objectName(feed, "ipset");
      const rule = `INPUT -m set --match-set ${set} src -j DROP`;
      const load = (file: string) =>
        `ipset restore < ${file} && { iptables -w -C ${rule} 2> /dev/null || iptables -w -I ${rule}; }`;
      return loadLatest(feed, listUrl(feed, `ipset?set=${set}`), `/var/lib/${set}.ipset`, load);
    },
  },
  { consumer: "OPNsense", ...urlTable("Firewall, Aliases") },
  { consumer: "pfSense", ...urlTable("Firewall, Aliases, URLs") },
  {
    consumer: "FortiGate",
    destination: "the command line of FortiOS; then a policy with this object as source",
    lines: (feed) =>
      [
        "config system external-resource",
        `  edit "${objectName(feed, "fortios")}"`,
        "    set type address",
        `    set resource "${listUrl(feed, "txt")}"`,
        '    set username "noisefloor"',
        `    set password "${feed.token}"`,
        "    set refresh-rate 5",
        "  next",
        "end",
      ].join("\n"),
  },
  {
    consumer: "Palo Alto EDL",
    destination: "the configuration mode of PAN-OS; then a rule with this list as source",
    lines: (feed) =>
      [
        `set external-list ${objectName(feed, "panos")} type ip url "${tokenUrl(feed, "txt")}"`,
        `set external-list ${objectName(feed, "panos")} type ip recurring five-minute`,
        "commit",
      ].join("\n"),
  },
  {
    consumer: "Suricata",
    destination:
      "a shell as root; suricata.yaml names the files under reputation-categories-file and reputation-files, and the second line also belongs into a timer",
    lines: (feed) =>
      [
        curlInto(feed, `${feed.url}/v3/feeds/iprep-categories.csv`, "/etc/suricata/iprep/categories.txt"),
        `${curlInto(feed, listUrl(feed, "iprep"), `/etc/suricata/iprep/${feed.name}.list`)} && suricatasc -c ruleset-reload-nonblocking`,
      ].join("\n"),
  },
  {
    consumer: "CrowdSec",
    destination: "the bouncer's own file, such as /etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml",
    lines: ({ url, token }) => [`api_url: ${url}/`, `api_key: ${token}`, "update_frequency: 60s"].join("\n"),
  },
  {
    consumer: "MISP",
    destination: 'a new feed of MISP of the format "MISP Feed": its URL, and the header in the second line',
    lines: ({ url, name, token }) => [`${url}/v3/feeds/${name}/misp/`, `key: ${token}`].join("\n"),
  },
  {
    consumer: "OpenCTI",
    destination: "the environment of OpenCTI's TAXII 2 connector (opencti/connector-taxii2)",
    lines: ({ url, id, token }) =>
      [
        `TAXII2_DISCOVERY_URL=${url}/taxii2/`,
        "TAXII2_V21=true",
        "TAXII2_USERNAME=noisefloor",
        `TAXII2_PASSWORD=${token}`,
        `TAXII2_COLLECTIONS=*.${id}`,
        "TAXII2_INTERVAL=1",
      ].join("\n"),
  },
  {
    consumer: "Microsoft Sentinel",
    destination: "the data connector Threat Intelligence - TAXII of Microsoft Sentinel",
    lines: ({ url, id, token }) =>
      [`API root URL: ${url}/taxii2/root/`, `Collection ID: ${id}`, "Username: noisefloor", `Password: ${token}`].join(
        "\n",
      ),
  },
];
