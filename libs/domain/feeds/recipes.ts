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

/** The name of nftables' set, which may have no `-` and may not begin with a digit. */
function nftSet(name: string): string {
  const set = name.replaceAll("-", "_");
  return /^\d/.test(set) ? `feed_${set}` : set;
}

/** The most characters of a name there. */
const MAX_NAME = { ipset: 27, fortios: 35, panos: 31 } as const;

const objectName = (name: string, length: number) => `noisefloor-${name}`.slice(0, length);

const listUrl = ({ url, name }: RecipeFeed, form: string) => `${url}/v3/feeds/${name}.${form}`;
/** For consumers that can send no header. */
const tokenUrl = (feed: RecipeFeed, form: string) => `${listUrl(feed, form)}?token=${feed.token}`;
const curl = (feed: RecipeFeed, form: string) => `curl -fsS -H 'key: ${feed.token}' '${listUrl(feed, form)}'`;

/** The same alias in both; only the menus differ. */
const urlTable = (menu: string) => ({
  destination: `${menu}: a new alias of the type "URL Table (IPs)" with this URL, refreshed each day at the latest; then a rule that blocks the alias as source`,
  lines: (feed: RecipeFeed) => tokenUrl(feed, "txt"),
});

export const RECIPES: readonly Recipe[] = [
  {
    consumer: "nftables",
    destination: "a shell as root; the first line also belongs into a timer that runs every few minutes",
    lines: (feed) =>
      [
        `${curl(feed, "nft")} | nft -f -`,
        "nft add chain inet noisefloor input '{ type filter hook input priority -10; }'",
        `nft add rule inet noisefloor input ip saddr @${nftSet(feed.name)} drop`,
      ].join("\n"),
  },
  {
    consumer: "ipset",
    destination: "a shell as root; the first line also belongs into a timer that runs every few minutes",
    lines: (feed) =>
      [
        `${curl(feed, "ipset")} | ipset restore`,
        `iptables -I INPUT -m set --match-set ${feed.name.slice(0, MAX_NAME.ipset)} src -j DROP`,
      ].join("\n"),
  },
  { consumer: "OPNsense", ...urlTable("Firewall, Aliases") },
  { consumer: "pfSense", ...urlTable("Firewall, Aliases, URLs") },
  {
    consumer: "FortiGate",
    destination: "the command line of FortiOS; then a policy with this object as source",
    lines: (feed) =>
      [
        "config system external-resource",
        `  edit "${objectName(feed.name, MAX_NAME.fortios)}"`,
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
        `set external-list ${objectName(feed.name, MAX_NAME.panos)} type ip url "${tokenUrl(feed, "txt")}"`,
        `set external-list ${objectName(feed.name, MAX_NAME.panos)} type ip recurring five-minute`,
        "commit",
      ].join("\n"),
  },
  {
    consumer: "Suricata",
    destination: "a shell as root; suricata.yaml names the files under reputation-categories-file and reputation-files",
    lines: (feed) =>
      [`${curl(feed, "iprep")} -o /etc/suricata/iprep/${feed.name}.list`, "suricatasc -c ruleset-reload-rules"].join(
        "\n",
      ),
  },
  {
    consumer: "Microsoft Sentinel",
    destination: "a query in Logs, which looks for the addresses in a table of yours",
    lines: (feed) =>
      [
        "let noise = externaldata(ip: string, first_seen: datetime, last_seen: datetime, classification: string,",
        "    tags: string, asn: string, organization: string, country: string)",
        `    [h@"${tokenUrl(feed, "csv")}"] with (format="csv", ignoreFirstRecord=true);`,
        "CommonSecurityLog | join kind=inner noise on $left.SourceIP == $right.ip",
      ].join("\n"),
  },
  {
    consumer: "CrowdSec",
    destination: "the bouncer's own file, such as /etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml",
    lines: ({ url, token }) => [`api_url: ${url}/`, `api_key: ${token}`, "update_frequency: 1m"].join("\n"),
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
];
