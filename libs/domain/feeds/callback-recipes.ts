import type { FeedSubject } from "./feed-definition.ts";
import {
  fetchList,
  listUrl,
  loadLatest,
  objectName,
  RECIPES,
  type Recipe,
  reloadChanged,
  TIMER,
  tokenUrl,
} from "./recipes.ts";

/** They do the same with a list of callbacks: names do not exist, or a platform has indicators. */
const SAME = new Set(["BIND", "unbound", "PowerDNS Recursor", "MISP", "OpenCTI", "Microsoft Sentinel"]);

/** Firewalls get no names where they take addresses. */
const ADDRESSES = "txt?kind=address";

const urlTable = (menu: string) => ({
  destination: `${menu}: a new alias of the type "URL Table (IPs)" with this URL, refreshed each day at the latest; then a rule that blocks the alias as destination`,
  lines: (feed: Parameters<Recipe["lines"]>[0]) => tokenUrl(feed, ADDRESSES),
});

/** What to paste for the way out: what one's own machines may not reach, or are infected when they do. */
const CALLBACK_RECIPES: readonly Recipe[] = [
  {
    consumer: "nftables",
    destination: TIMER,
    lines(feed) {
      const set = objectName(feed, "nftables").replaceAll("-", "_");
      return loadLatest(feed, `nft?set=${set}&hook=postrouting`, `/var/lib/${set}.nft`, (file) => `nft -f ${file}`);
    },
  },
  {
    consumer: "ipset",
    destination: `${TIMER}. FORWARD instead of OUTPUT blocks what the machine passes on`,
    lines(feed) {
      const set = objectName(feed, "ipset");
      const rule = `OUTPUT -m set --match-set ${set} dst -j DROP`;
      const load = (file: string) =>
        `ipset restore < ${file} && { iptables -w -C ${rule} 2> /dev/null || iptables -w -I ${rule}; }`;
      return loadLatest(feed, `ipset?set=${set}`, `/var/lib/${set}.ipset`, load);
    },
  },
  ...RECIPES.filter(({ consumer }) => SAME.has(consumer)),
  {
    consumer: "dnsmasq",
    destination: `${TIMER}. Run it once before the other line is in the file`,
    lines(feed) {
      const file = `/etc/dnsmasq.d/${objectName(feed, "file")}.hosts`;
      return [
        "# In /etc/dnsmasq.conf:",
        `#   addn-hosts=${file}`,
        reloadChanged(feed, "hosts", file, "", "systemctl reload dnsmasq"),
      ].join("\n");
    },
  },
  {
    consumer: "Suricata",
    destination: `${TIMER}. suricata.yaml names the file of rules under rule-files; HOME_NET are your machines`,
    lines(feed) {
      const file = `/etc/suricata/rules/noisefloor-${feed.name}`;
      const sets = [
        ["dataset", `${file}.names`],
        ["dataset?kind=address", `${file}.addresses`],
      ] as const;
      const rules = `${fetchList(feed, "rules", `${file}.rules`)} && mv ${file}.rules.tmp ${file}.rules`;
      const fetched = sets.map(([form, set]) => `${fetchList(feed, form, set)} && mv ${set}.tmp ${set}`);
      return [...fetched, rules, "suricatasc -c ruleset-reload-nonblocking"].join(" &&\n  ");
    },
  },
  { consumer: "OPNsense", ...urlTable("Firewall, Aliases") },
  { consumer: "pfSense", ...urlTable("Firewall, Aliases, URLs") },
  {
    consumer: "FortiGate",
    destination:
      "the command line of FortiOS; then a policy with the first object as destination, and a DNS filter with the second",
    lines: (feed) =>
      [
        ["address", ADDRESSES],
        ["domain", "txt?kind=name"],
      ]
        .flatMap(([type = "", form = ""]) => [
          "config system external-resource",
          `  edit "${`${objectName(feed, "fortios").slice(0, 27)}-${type}`}"`,
          `    set type ${type}`,
          `    set resource "${listUrl(feed, form)}"`,
          '    set username "noisefloor"',
          `    set password "${feed.token}"`,
          "    set refresh-rate 5",
          "  next",
          "end",
        ])
        .join("\n"),
  },
  {
    consumer: "Palo Alto EDL",
    destination:
      "the configuration mode of PAN-OS; then a rule with the first list as destination, and an anti-spyware profile with the second",
    lines: (feed) =>
      [
        ["ip", ADDRESSES],
        ["domain", "txt?kind=name"],
      ]
        .flatMap(([type = "", form = ""]) => {
          const list = `set external-list ${objectName(feed, "panos").slice(0, 24)}-${type} type ${type}`;
          return [`${list} url "${listUrl(feed, form)}&token=${feed.token}"`, `${list} recurring five-minute`];
        })
        .concat("commit")
        .join("\n"),
  },
];

/** The recipes for a feed. */
export const recipesFor = (of: FeedSubject): readonly Recipe[] => (of === "callbacks" ? CALLBACK_RECIPES : RECIPES);
