import type { Transport } from "@noisefloor/domain/observation/schema.ts";

/**
 * Which tag follows from a destination port alone. Only ports with a well known service are here: a busy port that
 * without one says nothing about what its visitors want, so it earns no tag.
 */
const SERVICES: readonly (readonly [slug: string, transport: Transport, ports: readonly number[]])[] = [
  // Remote access
  ["ssh-scanner", "tcp", [22, 2222, 22222]],
  ["telnet-scanner", "tcp", [23, 2323]],
  ["rdp-scanner", "tcp", [3388, 3389, 3390]],
  ["rdp-scanner", "udp", [3389]],
  ["vnc-scanner", "tcp", [5800, 5801, 5900, 5901, 5902, 5903, 5904, 5905, 5906, 5907, 5908, 5909, 5910]],
  ["x11-scanner", "tcp", [6000, 6001, 6002, 6003, 6004, 6005]],
  ["winrm-scanner", "tcp", [5985, 5986]],
  ["remote-admin-scanner", "tcp", [4899, 5631, 5938]],
  ["remote-admin-scanner", "udp", [5632]],
  ["adb-scanner", "tcp", [5555]],
  ["ipmi-scanner", "udp", [623]],
  ["pptp-scanner", "tcp", [1723]],

  // Web and proxies
  ["http-scanner", "tcp", [80]],
  ["https-scanner", "tcp", [443]],
  ["https-scanner", "udp", [443]],
  [
    "http-alt-scanner",
    "tcp",
    [
      81, 82, 83, 84, 85, 591, 2082, 2083, 7080, 8000, 8001, 8008, 8080, 8081, 8082, 8083, 8084, 8085, 8086, 8087, 8088,
      8089, 8090, 8180, 8443, 8880, 8888, 9080, 9090, 9443,
    ],
  ],
  ["http-proxy-scanner", "tcp", [808, 3128, 3129, 6588, 8118, 8123]],
  ["socks-proxy-scanner", "tcp", [1080, 4145, 9050, 9150]],

  // Mail, files, names and time
  ["ftp-scanner", "tcp", [21, 990, 2121]],
  ["tftp-scanner", "udp", [69]],
  ["rsync-scanner", "tcp", [873]],
  ["smtp-scanner", "tcp", [25, 465, 587]],
  ["mailbox-scanner", "tcp", [110, 143, 993, 995]],
  ["irc-scanner", "tcp", [6665, 6666, 6667, 6668, 6669, 6697]],
  ["dns-scanner", "tcp", [53]],
  ["dns-scanner", "udp", [53]],
  ["ntp-scanner", "udp", [123]],
  ["chargen-scanner", "tcp", [19]],
  ["chargen-scanner", "udp", [19]],

  // Windows networks and shared services
  ["smb-scanner", "tcp", [445]],
  ["netbios-scanner", "tcp", [139]],
  ["netbios-scanner", "udp", [137, 138]],
  ["msrpc-scanner", "tcp", [135]],
  ["rpcbind-scanner", "tcp", [111]],
  ["rpcbind-scanner", "udp", [111]],
  ["ldap-scanner", "tcp", [389, 636, 3268, 3269]],
  ["ldap-scanner", "udp", [389]],
  ["snmp-scanner", "udp", [161]],
  ["ssdp-scanner", "tcp", [1900]],
  ["ssdp-scanner", "udp", [1900]],
  ["ipp-scanner", "tcp", [631]],
  ["ipp-scanner", "udp", [631]],
  ["sip-scanner", "tcp", [5060, 5061]],
  ["sip-scanner", "udp", [5060, 5061]],

  // Databases and caches. UDP 1434 is not "sql-slammer": the port alone does not distinguish the worm from a query.
  ["mssql-scanner", "tcp", [1433, 1434, 2433]],
  ["mssql-browser-scanner", "udp", [1434]],
  ["mysql-scanner", "tcp", [3306, 33060]],
  ["postgresql-scanner", "tcp", [5432]],
  ["oracle-db-scanner", "tcp", [1521]],
  ["mongodb-scanner", "tcp", [27017, 27018]],
  ["redis-scanner", "tcp", [6379]],
  ["elasticsearch-scanner", "tcp", [9200, 9300]],
  ["memcached-scanner", "tcp", [11211]],
  ["memcached-scanner", "udp", [11211]],

  // Containers and nodes
  ["docker-api-scanner", "tcp", [2375, 2376]],
  ["kubernetes-api-scanner", "tcp", [6443, 10250, 10255]],
  ["ethereum-rpc-scanner", "tcp", [8545]],

  // Devices and industrial control
  ["mqtt-scanner", "tcp", [1883, 8883]],
  ["cwmp-scanner", "tcp", [7547]],
  ["iot-exploit-port-scanner", "tcp", [9527, 32764, 34567, 37215, 52869, 60001]],
  ["iot-exploit-port-scanner", "udp", [53413]],
  ["modbus-scanner", "tcp", [502]],
  ["s7-scanner", "tcp", [102]],
  ["bacnet-scanner", "udp", [47808]],
  ["dnp3-scanner", "tcp", [20000]],
  ["dnp3-scanner", "udp", [20000]],
];

/** One entry for each port and tag, in the order of the table above. Every slug is in `infra/tags/starter.yaml`. */
export const PORT_TAGS: readonly { transport: Transport; port: number; slug: string }[] = SERVICES.flatMap(
  ([slug, transport, ports]) => ports.map((port) => ({ transport, port, slug })),
);

const NO_TAGS: readonly string[] = [];
const ICMP_TAGS: readonly string[] = ["icmp-ping"];

const slugsByPort = new Map<string, string[]>();
for (const { transport, port, slug } of PORT_TAGS) {
  const slugs = slugsByPort.get(`${transport}/${port}`);
  if (slugs === undefined) slugsByPort.set(`${transport}/${port}`, [slug]);
  else slugs.push(slug);
}

/**
 * The slugs of the tags that a packet to this port earns; empty when the port says nothing. ICMP has no ports, so every
 * ICMP packet earns the same tag whatever `destinationPort` holds (Zeek puts the code there).
 */
export function tagsForPort(transport: Transport, destinationPort: number | undefined): readonly string[] {
  if (transport === "icmp") return ICMP_TAGS;
  if (destinationPort === undefined) return NO_TAGS;
  return slugsByPort.get(`${transport}/${destinationPort}`) ?? NO_TAGS;
}
