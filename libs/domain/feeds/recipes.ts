/** Where a feed is read, and with which token. */
export type RecipeFeed = {
  /** The address of the service, without a slash at its end. */
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
const MAX_NAME = { nftables: 64, ipset: 27, fortios: 35, panos: 31, file: 80 } as const;

/** A name of its own in a consumer: a feed's alone may be a word of the consumer's language. */
export const objectName = ({ name }: RecipeFeed, consumer: keyof typeof MAX_NAME) =>
  `noisefloor-${name}`.slice(0, MAX_NAME[consumer]);

/** @param form of the list, and its parameters. */
export const listUrl = ({ url, name }: RecipeFeed, form: string) => `${url}/v3/feeds/${name}.${form}`;
/** For consumers that can send no header. */
export const tokenUrl = (feed: RecipeFeed, form: string) =>
  `${listUrl(feed, form)}${form.includes("?") ? "&" : "?"}token=${feed.token}`;
const curl = ({ token }: RecipeFeed, url: string) => `curl -sSf -m 60 -H 'key: ${token}' '${url}'`;
/** Into a file that a download which breaks off leaves as it is. */
export const curlInto = (feed: RecipeFeed, url: string, file: string) =>
  `${curl(feed, url)} -o ${file}.tmp && mv ${file}.tmp ${file}`;
/** Downloads a list. Every answer that is one has a cursor: an error, a page of a proxy and an empty answer have none. */
export const fetchList = (feed: RecipeFeed, form: string, file: string) =>
  `${curl(feed, listUrl(feed, form))} -D ${file}.head -o ${file}.tmp && grep -qi ^feed-cursor: ${file}.head`;
/**
 * Loads a list, or where that fails the last one that was loaded, and then ends with a failure: whatever was flushed
 * meanwhile is there again. @param load the command that loads a file.
 */
export const loadLatest = (feed: RecipeFeed, form: string, file: string, load: (file: string) => string) =>
  `${fetchList(feed, form, file)} && ${load(`${file}.tmp`)} && mv ${file}.tmp ${file} || { ${load(file)}; false; }`;
/**
 * Reloads a program that reads the file, when the list has changed or the last reload failed.
 * @param script of sed, which writes the list as the program reads it.
 */
export const reloadChanged = (feed: RecipeFeed, form: string, file: string, script: string, reload: string) =>
  `${fetchList(feed, form, file)} && sed '${script}' ${file}.tmp > ${file}.new && { cmp -s ${file}.new ${file}.loaded || { cp ${file}.new ${file}.next && mv ${file}.next ${file} && ${reload} && mv ${file}.new ${file}.loaded; }; }`;

/** The same alias in both; only the menus differ. */
const urlTable = (menu: string) => ({
  destination: `${menu}: a new alias of the type "URL Table (IPs)" with this URL, refreshed each day at the latest; then a rule that blocks the alias as source`,
  lines: (feed: RecipeFeed) => tokenUrl(feed, "txt"),
});

export const TIMER = "a shell as root, and a timer that runs it every minute: it makes all that is missing";

export const RECIPES: readonly Recipe[] = [
  {
    consumer: "nftables",
    destination: TIMER,
    lines(feed) {
      const set = objectName(feed, "nftables").replaceAll("-", "_");
      return loadLatest(feed, `nft?set=${set}&hook=prerouting`, `/var/lib/${set}.nft`, (file) => `nft -f ${file}`);
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
      return loadLatest(feed, `ipset?set=${set}`, `/var/lib/${set}.ipset`, load);
    },
  },
  {
    consumer: "HAProxy",
    destination: `${TIMER}. Run it once before the rule is in the file`,
    lines(feed) {
      const file = `/etc/haproxy/${objectName(feed, "file")}.lst`;
      return [
        "# In /etc/haproxy/haproxy.cfg, in each frontend:",
        `#   http-request deny if { src -f ${file} }`,
        reloadChanged(feed, "txt", file, "", "systemctl reload haproxy"),
      ].join("\n");
    },
  },
  {
    consumer: "nginx",
    destination: `${TIMER}. Run it once before the other lines are in the file`,
    lines(feed) {
      const file = `/etc/nginx/${objectName(feed, "file")}.geo`;
      const variable = objectName(feed, "file").replaceAll("-", "_");
      return [
        "# In /etc/nginx/nginx.conf, in http, and in each server:",
        `#   geo $${variable} { default 0; include ${file}; }`,
        `#   if ($${variable}) { return 403; }`,
        reloadChanged(feed, "txt", file, "s/$/ 1;/", "nginx -s reload"),
      ].join("\n");
    },
  },
  {
    consumer: "Apache",
    destination: `${TIMER}. Run it once before the other lines are in the file; Apache reads the list anew by itself`,
    lines(feed) {
      const file = `/etc/apache2/${objectName(feed, "file")}.map`;
      const map = objectName(feed, "file");
      return [
        "# In each virtual host, with mod_rewrite:",
        "#   RewriteEngine on",
        `#   RewriteMap ${map} txt:${file}`,
        `#   RewriteCond \${${map}:%{REMOTE_ADDR}} .`,
        "#   RewriteRule ^ - [F]",
        `${fetchList(feed, "txt", file)} && sed 's/$/ 1/' ${file}.tmp > ${file}.new && mv ${file}.new ${file}`,
      ].join("\n");
    },
  },
  {
    consumer: "BIND",
    destination: `${TIMER}. Run it once before the other lines are in the file`,
    lines(feed) {
      const file = `/var/lib/bind/${objectName(feed, "file")}.rpz`;
      const zone = `${feed.name}.noisefloor`;
      return [
        "# In /etc/bind/named.conf.options, in options:",
        `#   response-policy { zone "${zone}"; } break-dnssec yes;`,
        "# and outside of them:",
        `#   zone "${zone}" { type primary; file "${file}"; allow-query { none; }; };`,
        reloadChanged(feed, "rpz", file, "", `rndc reload ${zone}`),
      ].join("\n");
    },
  },
  {
    consumer: "unbound",
    destination: `${TIMER}. Run it once before the other lines are in the file`,
    lines(feed) {
      const file = `/var/lib/unbound/${objectName(feed, "file")}.rpz`;
      const zone = `${feed.name}.noisefloor`;
      return [
        "# In a file of /etc/unbound/unbound.conf.d:",
        "#   server:",
        '#     module-config: "respip validator iterator"',
        "#   remote-control:",
        "#     control-enable: yes",
        "#   rpz:",
        `#     name: ${zone}`,
        `#     zonefile: ${file}`,
        reloadChanged(feed, "rpz", file, "", `unbound-control auth_zone_reload ${zone}`),
      ].join("\n");
    },
  },
  {
    consumer: "PowerDNS Recursor",
    destination: `${TIMER}. Run it once before the other lines are in the file`,
    lines(feed) {
      const file = `/etc/powerdns/${objectName(feed, "file")}.rpz`;
      return [
        "# In /etc/powerdns/recursor.yml:",
        `#   recursor: { rpzs: [{ name: ${file}, policyName: ${feed.name} }] }`,
        reloadChanged(feed, "rpz", file, "", "rec_control reload-yaml && rec_control wipe-cache '$'"),
      ].join("\n");
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
        reloadChanged(
          feed,
          "iprep",
          `/etc/suricata/iprep/${feed.name}.list`,
          "",
          "suricatasc -c ruleset-reload-nonblocking",
        ),
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
