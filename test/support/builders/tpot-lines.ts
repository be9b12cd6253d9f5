/** A visit to a honeypot of T-Pot. */
export type TpotVisit = {
  /** Milliseconds since 1970 UTC, whole minutes: Medpot logs no seconds. */
  readonly at: number;
  readonly ip: string;
  readonly port: number;
  /** Unique at its honeypot. */
  readonly id: string;
};

/** What a visit to each honeypot is, by its file: the application, the port that is visited, and one thing that it did. */
export type TpotFile = {
  readonly honeypot: string;
  readonly file: string;
  readonly application: string;
  readonly port: number;
  /** Members of the observation besides. */
  readonly says?: object;
  /** The lines that the honeypot writes for a visit, without their ends. */
  readonly write: (visit: TpotVisit) => readonly string[];
};

const iso = (at: number) => new Date(at).toISOString();
const micros = (at: number) => `${iso(at).slice(0, -1)}000`;
const blank = (at: number) => micros(at).replace("T", " ");
const shortDate = (at: number) => {
  const [, day, month, year, clock] = /, (\d\d) (\w{3}) \d\d(\d\d) (\d\d:\d\d)/.exec(new Date(at).toUTCString()) ?? [];
  return `${day} ${month} ${year} ${clock} UTC`;
};
const json = (...records: readonly object[]) => records.map((record) => JSON.stringify(record));

const CONTAINER = "172.20.0.2";
const HOST = "198.51.100.7";
const PATH = { http: { method: "GET", path: "/.env" } };
const ROOT = { login_attempts: 1, credentials: [{ username: "root", password: "1234" }] };
/** The members of Python honeypots in Cowrie's manner. */
const plain = ({ at, ip, port }: TpotVisit) => ({ timestamp: `${micros(at)}Z`, src_ip: ip, src_port: port });

/** As the honeypots of T-Pot 24.04.1 write. */
export const TPOT_FILES: readonly TpotFile[] = [
  {
    honeypot: "Adbhoney",
    file: "adbhoney/log/adbhoney.json",
    application: "adb",
    port: 5555,
    says: { commands: ["id"] },
    write: (visit) => {
      const own = { ...plain(visit), dst_ip: CONTAINER, dst_port: 5555, session: visit.id, sensor: "3f2a" };
      return json(
        { ...own, eventid: "adbhoney.session.connect" },
        { ...own, eventid: "adbhoney.command.input", input: "id" },
        { ...own, eventid: "adbhoney.session.closed", duration: "0.21" },
      );
    },
  },
  {
    honeypot: "Beelzebub",
    file: "beelzebub/log/beelzebub.json",
    application: "ssh",
    port: 22,
    says: ROOT,
    write: ({ at, ip, port, id }) =>
      json({
        timestamp: iso(at),
        src_ip: ip,
        src_port: String(port),
        dest_port: "22",
        protocol: "SSH",
        service: "SSH interactive",
        status: "Stateless",
        session: id,
        username: "root",
        password: "1234",
        msg: "New SSH attempt",
        level: "info",
      }),
  },
  {
    honeypot: "Ciscoasa",
    file: "ciscoasa/log/ciscoasa.log",
    application: "http",
    port: 8443,
    says: PATH,
    write: ({ at, ip }) => [
      "Starting server on port 8443/tcp, use <Ctrl-C> to stop",
      "Traceback (most recent call last):",
      '  File "asa_server.py", line 1, in <module>',
      "ConnectionResetError: [Errno 104] Connection reset by peer",
      `{'timestamp': '${micros(at)}', 'src_ip': '${ip}', 'payload_printable': '"GET /.env?it's=1 HTTP/1.1" 200 -'}`,
    ],
  },
  {
    honeypot: "CitrixHoneypot",
    file: "citrixhoneypot/log/server.log",
    application: "http",
    port: 443,
    says: PATH,
    write: ({ at, ip, port }) =>
      json({
        asctime: blank(at).slice(0, -3).replace(".", ","),
        levelname: "INFO",
        message: `(${ip}:${port}): GET Header: /.env`,
      }),
  },
  {
    honeypot: "ConPot",
    file: "conpot/log/conpot_ipmi.json",
    application: "ipmi",
    port: 623,
    write: ({ at, ip, port, id }) =>
      json({
        timestamp: micros(at),
        sensorid: "conpot",
        id,
        src_ip: ip,
        src_port: port,
        dst_ip: CONTAINER,
        dst_port: 623,
        public_ip: null,
        data_type: "ipmi",
        request: null,
        response: null,
        event_type: "NEW_CONNECTION",
      }),
  },
  {
    honeypot: "Cowrie",
    file: "cowrie/log/cowrie.json",
    application: "ssh",
    port: 22,
    says: { ...ROOT, commands: ["uname -a"] },
    write: (visit) => {
      const own = {
        ...plain(visit),
        dst_ip: CONTAINER,
        dst_port: 22,
        session: visit.id,
        sensor: "8e1f",
        protocol: "ssh",
      };
      return json(
        { ...own, eventid: "cowrie.session.connect", message: "New connection" },
        { ...own, eventid: "cowrie.login.success", username: "root", password: "1234" },
        { ...own, eventid: "cowrie.command.input", input: "uname -a" },
        { ...own, eventid: "cowrie.session.closed", duration: "1.2" },
      );
    },
  },
  {
    honeypot: "Ddospot",
    file: "ddospot/log/ssdpot.log",
    application: "ssdp",
    port: 1900,
    write: ({ at, ip, port }) => [
      "Flushing information for 1 IP(s) to database...",
      JSON.stringify({
        time: blank(at),
        src_ip: ip,
        src_port: port,
        st: "ssdp:all",
        mx: 2,
        req_size: 94,
        resp_size: 3000,
      }),
    ],
  },
  {
    honeypot: "Dicompot",
    file: "dicompot/log/dicompot.log",
    application: "dicom",
    port: 0,
    write: ({ at, ip, port, id }) =>
      json(
        {
          ID: id,
          IP: ip,
          Port: String(port),
          level: "warning",
          msg: "Connection from",
          time: iso(at).slice(0, 19).replace("T", " "),
        },
        { ID: id, Version: "DCMTK", level: "info", msg: "Client", time: iso(at).slice(0, 19).replace("T", " ") },
      ),
  },
  {
    honeypot: "Dionaea",
    file: "dionaea/log/dionaea.json",
    application: "mssql",
    port: 1433,
    says: { login_attempts: 1, credentials: [{ username: "sa", password: "1234" }] },
    write: ({ at, ip, port }) =>
      json({
        connection: { protocol: "mssqld", transport: "tcp", type: "accept" },
        dst_ip: CONTAINER,
        dst_port: 1433,
        src_hostname: "",
        src_ip: `::ffff:${ip}`,
        src_port: port,
        timestamp: micros(at),
        credentials: { username: ["sa"], password: ["1234"] },
      }),
  },
  {
    honeypot: "ElasticPot",
    file: "elasticpot/log/elasticpot.json",
    application: "elasticsearch",
    port: 9200,
    says: PATH,
    write: (visit) =>
      json({
        ...plain(visit),
        eventid: "elasticpot.recon",
        message: "Scan",
        url: "/.env",
        request: "GET",
        dst_ip: CONTAINER,
        dst_port: 9200,
        user_agent: "zgrab",
        sensor: "t-pot",
      }),
  },
  {
    honeypot: "Endlessh",
    file: "endlessh/log/endlessh.log",
    application: "ssh",
    port: 22,
    write: ({ at, ip, port }) => [
      `${iso(at)} Port 2222`,
      `${iso(at)} ACCEPT host=${ip} port=${port} fd=4 n=1/4096`,
      `${iso(at + 20_000)} CLOSE host=${ip} port=${port} fd=4 time=20.015 bytes=24`,
    ],
  },
  {
    honeypot: "Fatt",
    file: "fatt/log/fatt.log",
    application: "http",
    port: 8081,
    says: PATH,
    write: ({ at, ip, port }) =>
      json({
        timestamp: micros(at),
        sourceIp: ip,
        destinationIp: HOST,
        sourcePort: String(port),
        destinationPort: "8081",
        protocol: "http",
        http: { requestURI: "/.env", requestMethod: "GET", userAgent: "zgrab", clientHeaderHash: "a".repeat(32) },
      }),
  },
  {
    honeypot: "Galah",
    file: "galah/log/galah.json",
    application: "http",
    port: 8080,
    says: PATH,
    write: ({ at, ip, port, id }) =>
      json({
        timestamp: iso(at),
        src_ip: ip,
        src_port: String(port),
        dest_port: "8080",
        session: id,
        "request.method": "GET",
        "request.requestURI": "/.env",
        "request.protocolVersion": "HTTP/1.1",
        "request.headers.sorted": "Accept",
        level: "info",
        msg: "successfulResponse",
      }),
  },
  {
    honeypot: "Glutton",
    file: "glutton/log/glutton.log",
    application: "smtp",
    port: 25,
    write: ({ at, ip, port }) =>
      json(
        { time: iso(at), level: "INFO", msg: "Loading configurations from: config/config.yaml" },
        {
          time: iso(at),
          level: "INFO",
          msg: "command received",
          sensorID: "s",
          handler: "smtp",
          src_ip: ip,
          src_port: String(port),
          dest_port: "25",
        },
      ),
  },
  {
    honeypot: "Go-pot",
    file: "go-pot/log/go-pot.json",
    application: "http",
    port: 8082,
    says: PATH,
    write: ({ at, ip, id }) => {
      const own = {
        timestamp: iso(at),
        id,
        src_ip: ip,
        dest_port: "8082",
        host: "h",
        method: "GET",
        path: "/.env",
        qs: "",
      };
      return json({ ...own, phase: "start", duration: 0 }, { ...own, phase: "end", duration: 3, status: 200 });
    },
  },
  {
    honeypot: "H0neytr4p",
    file: "h0neytr4p/log/log.json",
    application: "http",
    port: 443,
    says: PATH,
    write: ({ at, ip, port }) =>
      json({
        timestamp: iso(at),
        src_ip: ip,
        src_port: String(port),
        dest_port: "443",
        hostname: HOST,
        protocol: "HTTPS",
        request_method: "GET",
        request_uri: "/.env",
        trapped: "false",
        "user-agent": "zgrab",
      }),
  },
  {
    honeypot: "Hellpot",
    file: "hellpot/log/hellpot.log",
    application: "http",
    port: 80,
    says: PATH,
    write: ({ at, ip }) => {
      const own = {
        level: "info",
        caller: "router.go:45",
        USERAGENT: "zgrab",
        REMOTE_ADDR: ip,
        URL: "/.env",
        time: iso(at),
      };
      return json({ ...own, message: "NEW" }, { ...own, BYTES: 300, DURATION: 4, message: "FINISH" });
    },
  },
  {
    honeypot: "Heralding",
    file: "heralding/log/log_session.json",
    application: "vnc",
    port: 5900,
    says: ROOT,
    write: ({ at, ip, port, id }) =>
      json({
        timestamp: blank(at),
        duration: 1,
        session_id: id,
        source_ip: ip,
        source_port: port,
        destination_ip: HOST,
        destination_port: 5900,
        protocol: "vnc",
        num_auth_attempts: 1,
        auth_attempts: [{ timestamp: blank(at), username: "root", password: "1234" }],
        session_ended: true,
        auxiliary_data: {},
      }),
  },
  {
    honeypot: "Honeyaml",
    file: "honeyaml/log/honeyaml.log",
    application: "http",
    port: 8080,
    says: PATH,
    write: ({ at, ip, port }) =>
      json(
        { timestamp: iso(at), level: "INFO", message: "starting", target: "actix_server::builder" },
        {
          timestamp: iso(at),
          level: "INFO",
          target: "honeyaml::access-log",
          src_ip: ip,
          src_port: String(port),
          dest_port: "8080",
          method: "GET",
          path: "/.env",
          host: "h",
        },
      ),
  },
  {
    honeypot: "Honeypots",
    file: "honeypots/log/telnet.log",
    application: "telnet",
    port: 23,
    says: ROOT,
    write: ({ at, ip, port }) =>
      json({
        action: "login",
        dest_ip: "0.0.0.0",
        dest_port: "23",
        password: "1234",
        protocol: "telnet",
        src_ip: ip,
        src_port: String(port),
        status: "failed",
        timestamp: micros(at),
        username: "root",
      }),
  },
  {
    honeypot: "Honeytrap",
    file: "honeytrap/log/attackers.json",
    application: "http",
    port: 8088,
    says: PATH,
    write: ({ at, ip, port }) =>
      json({
        is_virtual: false,
        "@timestamp": iso(at),
        start_time: iso(at),
        end_time: iso(at),
        attack_connection: {
          protocol: "tcp",
          remote_ip: ip,
          remote_port: port,
          local_ip: "10.0.0.5",
          local_port: 8088,
          payload: {
            md5_hash: "a".repeat(32),
            sha512_hash: "b".repeat(128),
            length: 30,
            data_hex: Buffer.from("GET /.env HTTP/1.1\r\nHost: h\r\n\r\n").toString("hex"),
          },
        },
        operation_mode: 1,
        download_count: 0,
        download_tries: 0,
        downloads: {},
      }),
  },
  {
    honeypot: "Ipphoney",
    file: "ipphoney/log/ipphoney.json",
    application: "ipp",
    port: 631,
    says: { http: { method: "POST", path: "/ipp/print" } },
    write: (visit) =>
      json({
        ...plain(visit),
        timestamp: `${micros(visit.at)}+00:00Z`,
        eventid: "ipphoney.connect",
        url: "/ipp/print",
        request: "POST",
        dst_ip: CONTAINER,
        dst_port: 631,
        sensor: "t-pot",
      }),
  },
  {
    honeypot: "Log4pot",
    file: "log4pot/log/log4pot.log",
    application: "http",
    port: 8080,
    says: PATH,
    write: ({ at, ip, port, id }) => {
      const own = { timestamp: micros(at), correlation_id: id };
      return json(
        {
          ...own,
          reason: "request",
          server_port: 8080,
          client: ip,
          port,
          request: "GET /.env HTTP/1.1",
          headers: { "User-Agent": "zgrab" },
        },
        { ...own, reason: "end" },
      );
    },
  },
  {
    honeypot: "Mailoney",
    file: "mailoney/log/commands.log",
    application: "smtp",
    port: 25,
    says: { commands: ["EHLO x"] },
    write: (visit) => json({ ...plain(visit), data: "EHLO x\r" }),
  },
  {
    honeypot: "Medpot",
    file: "medpot/log/medpot.log",
    application: "hl7",
    port: 2575,
    write: ({ at, ip, port }) =>
      json({
        level: "info",
        message: "Connection found",
        timestamp: shortDate(at),
        src_port: String(port),
        src_ip: ip,
        data: "TVNI",
      }),
  },
  {
    honeypot: "Miniprint",
    file: "miniprint/log/miniprint.json",
    application: "printer",
    port: 9100,
    says: { commands: ["INFO ID"] },
    write: ({ at, ip }) => {
      const own = { timestamp: `${micros(at)}Z`, src_ip: ip, dest_port: 9100 };
      return json(
        { timestamp: own.timestamp, info: "Server started", action: "start", event: "server_start" },
        { ...own, info: "Command", action: "cmd_unknown", command: "INFO ID", event: "command_received" },
        { ...own, info: "ID response", action: "response", event: "info_id", response: "b'hp'" },
        { ...own, info: "Connection closed", action: "close_conn", event: "connection_closed" },
      );
    },
  },
  {
    honeypot: "NGINX",
    file: "nginx/log/access.log",
    application: "http",
    port: 0,
    says: PATH,
    write: ({ at, ip, port }) => {
      const own = {
        msec: (at / 1_000).toFixed(3),
        connection_serial: "7",
        request_id: "c".repeat(32),
        src_ip: ip,
        src_port: String(port),
        request_data: "GET /.env HTTP/1.1",
        request_uri: "/.env",
        request_method: "GET",
        http_host: `${HOST}:64297`,
        http_user_agent: "zgrab",
      };
      return json(
        { ...own, remote_user: "", status: "401" },
        // The operator's.
        { ...own, remote_user: "tsec", src_ip: "198.51.100.200", status: "200" },
      );
    },
  },
  {
    honeypot: "P0f",
    file: "p0f/log/p0f.json",
    application: "",
    port: 7774,
    write: ({ at, ip, port }) => {
      const own = {
        timestamp: iso(at).slice(0, 19).replaceAll("-", "/").replace("T", " "),
        client_ip: ip,
        server_ip: HOST,
        client_port: port,
        server_port: 7774,
      };
      return json(
        { ...own, mod: "syn", subject: "cli", os: "Linux 3.x", dist: "9", params: "none" },
        { ...own, mod: "syn+ack", subject: "srv", os: "???", dist: "0", params: "none" },
      );
    },
  },
  {
    honeypot: "RDPHoneypot",
    file: "rdphoneypot/log/rdphoneypot.json",
    application: "rdp",
    port: 3389,
    says: { credentials: [{ username: "administr" }] },
    write: (visit) =>
      json({
        ...plain(visit),
        timestamp: `${micros(visit.at)}+00:00Z`,
        eventid: "rdphoneypot.connect",
        username: "administr",
        dst_ip: CONTAINER,
        dst_port: 3389,
        sensor: "t-pot",
      }),
  },
  {
    honeypot: "Redishoneypot",
    file: "redishoneypot/log/redishoneypot.log",
    application: "redis",
    port: 6379,
    says: { commands: ["info"] },
    write: ({ at, ip, port }) => {
      const own = { addr: `${ip}:${port}`, level: "info", msg: "", time: iso(at).slice(0, 19).replace("T", " ") };
      return json({ ...own, action: "info" }, { ...own, action: "Closed" });
    },
  },
  {
    honeypot: "Sentrypeer",
    file: "sentrypeer/log/sentrypeer.json",
    application: "sip",
    port: 5060,
    says: { http: { method: "OPTIONS", user_agent: "friendly-scanner" } },
    write: ({ at, ip, port, id }) =>
      json({
        app_name: "sentrypeer",
        app_version: "v4.0.3",
        event_timestamp: `${blank(at)}000`,
        event_uuid: id,
        collected_method: "responsive",
        transport_type: "UDP",
        source_ip: `${ip}:${port}`,
        destination_ip: CONTAINER,
        called_number: "100",
        sip_method: "OPTIONS",
        sip_user_agent: "friendly-scanner",
      }),
  },
  {
    honeypot: "Suricata",
    file: "suricata/log/eve.json",
    application: "http",
    port: 81,
    says: PATH,
    write: ({ at, ip, port, id }) => {
      const flow_id = Number.parseInt(id.slice(-12), 16);
      const timestamp = `${micros(at)}+0000`;
      const there = { src_ip: ip, src_port: port, dest_ip: HOST, dest_port: 81 };
      return json(
        {
          timestamp,
          flow_id,
          in_iface: "eth0",
          event_type: "http",
          ...there,
          proto: "TCP",
          tx_id: 0,
          http: { hostname: HOST, url: "/.env", http_method: "GET", http_user_agent: "zgrab", length: 0 },
        },
        { timestamp, event_type: "stats", stats: { uptime: 10 } },
        // What the host itself asks for.
        {
          timestamp,
          flow_id: flow_id + 1,
          event_type: "dns",
          src_ip: HOST,
          src_port: 40_000,
          dest_ip: "192.0.2.53",
          dest_port: 53,
          proto: "UDP",
          dns: { version: 2, type: "query", id: 1, rrname: "example.org", rrtype: "A", tx_id: 0 },
        },
      );
    },
  },
  {
    honeypot: "Tanner",
    file: "tanner/log/tanner_report.json",
    application: "http",
    port: 80,
    says: PATH,
    write: ({ at, ip, port, id }) =>
      json({
        method: "GET",
        path: "/.env",
        headers: { "user-agent": "zgrab" },
        uuid: id,
        peer: { ip, port },
        status: 200,
        timestamp: micros(at),
        response_msg: { version: "0.6.0", response: { message: { sess_uuid: id } } },
      }),
  },
  {
    honeypot: "Wordpot",
    file: "wordpot/log/wordpot.log",
    application: "http",
    port: 80,
    says: { ...ROOT, http: { host: "h", path: "/wp-login.php" } },
    write: ({ at, ip, port }) => [
      "Honeypot started on 0.0.0.0:80",
      `${ip} probed for the admin panel with path: /`,
      ...json({
        timestamp: micros(at),
        src_ip: ip,
        src_port: port,
        dest_ip: "0.0.0.0",
        dest_port: "80",
        browser_family: "Other",
        user_agent: "zgrab",
        url: "http://h/wp-login.php",
        username: "root",
        password: "1234",
        plugin: "badlogin",
      }),
    ],
  },
];
