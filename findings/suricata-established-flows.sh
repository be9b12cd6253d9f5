#!/bin/sh
# Suricata 7.0.10 (Debian 13, package suricata): neither `flow.state` "established" nor an `http` event says that the client
# received the SYN-ACK.
#
# Guess: a flow over TCP is called established after its handshake, and requests are logged of such flows alone.
# Seen:  (1) a FIN after the SYN-ACK makes a flow "established" (`tcp.state` close_wait), also without an acknowledgement or
#        with a wrong one. A wrong acknowledgement without FIN does not, and one real handshake ends in `tcp.state`
#        established. (2) A lone SYN that carries a request and the option of TCP Fast Open, even an empty one that asks for
#        a cookie, gives an `http` event with the same members as a request in an established connection that got no
#        response; only a response adds `http.status`. Without the option there is no event.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Unpacked, not installed: only apt-get and dpkg of this machine take part.
mkdir -p lists/partial cache/archives root
: > status
sed -E 's/^(deb|deb-src) (\[[^]]*\] )?([^ ]+) .*/deb \2\3 trixie main/' /etc/apt/sources.list 2> ignored | grep '^deb ' | sort -u | head -1 > sources
if [ ! -s sources ]; then
  uri=$(cat /etc/apt/sources.list.d/*.sources | sed -n 's/^URIs: *\([^ ]*\).*/\1/p' | head -1)
  key=$(cat /etc/apt/sources.list.d/*.sources | sed -n 's/^Signed-By: *\([^ ]*\).*/ [signed-by=\1]/p' | head -1)
  echo "deb$key $uri trixie main" > sources
fi
apt() {
  apt-get -o Dir::Etc::sourcelist="$folder/sources" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
    -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" -o APT::Install-Recommends=false \
    -o Debug::NoLocking=true -qq "$@" > apt.log
}
apt update
apt -y --download-only install "suricata=1:7.0.10-*"
for archive in cache/archives/*.deb; do dpkg -x "$archive" root; done
libraries=$(dirname "$(find root/usr/lib -name 'libc.so.6' | head -1)")
loader=$(find "$libraries" -name 'ld-linux-*' | head -1)

cat > suricata.yaml <<YAML
%YAML 1.1
---
vars: { address-groups: { HOME_NET: "[203.0.113.7/32]", EXTERNAL_NET: "!\$HOME_NET" } }
classification-file: $folder/root/etc/suricata/classification.config
reference-config-file: $folder/root/etc/suricata/reference.config
outputs: [{ eve-log: { enabled: yes, filetype: regular, filename: eve.json, types: [http: { extended: yes }, flow] } }]
app-layer: { protocols: { http: { enabled: yes } } }
YAML

cat > capture.py <<'PYTHON'
# A conversation of each client with one server, in a capture of bare IPv4 packets, and what Suricata says of each.
import json
import socket
import struct
import sys

SERVER = "203.0.113.7"
FIN, SYN, PSH, ACK = 1, 2, 8, 16
REQUEST = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
RESPONSE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
FAST_OPEN = b"\x22\x02\x01\x01"
ASKED, ANSWERED = 1000 + len(REQUEST), 5000 + len(RESPONSE)
SYN_SENT = (">", 999, 0, SYN)
SYN_ACK = ("<", 4999, 1000, SYN | ACK)
HANDSHAKE = [SYN_SENT, SYN_ACK, (">", 1000, 5000, ACK)]
ASK = (">", 1000, 5000, PSH | ACK, REQUEST)
CASES = {
    "handshake": HANDSHAKE,
    "handshake, request": [*HANDSHAKE, ASK, ("<", 5000, ASKED, ACK)],
    "handshake, request, response": [*HANDSHAKE, ASK, ("<", 5000, ASKED, PSH | ACK, RESPONSE), (">", ASKED, ANSWERED, ACK)],
    "SYN, SYN-ACK": [SYN_SENT, SYN_ACK],
    "SYN, SYN-ACK, wrong ACK": [SYN_SENT, SYN_ACK, (">", 1000, 7777, ACK)],
    "SYN, SYN-ACK, FIN with wrong ACK": [SYN_SENT, SYN_ACK, (">", 1000, 7777, FIN | ACK)],
    "SYN, SYN-ACK, FIN without ACK": [SYN_SENT, SYN_ACK, (">", 1000, 0, FIN)],
    "SYN with request": [(">", 999, 0, SYN, REQUEST)],
    "SYN with request and Fast Open": [(">", 999, 0, SYN, REQUEST, FAST_OPEN)],
}
CLIENTS = {"198.51.100.%d" % number: name for number, name in enumerate(CASES, 1)}


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def packet(client, way, sequence, acknowledged, flags, data=b"", options=b""):
    sides = (client, 40000, SERVER, 80) if way == ">" else (SERVER, 80, client, 40000)
    ends = socket.inet_aton(sides[0]) + socket.inet_aton(sides[2])
    offset = (20 + len(options)) // 4 << 4
    tcp = struct.pack("!HHIIBBHHH", sides[1], sides[3], sequence, acknowledged, offset, flags, 64000, 0, 0) + options + data
    tcp = tcp[:16] + checksum(ends + struct.pack("!BBH", 0, 6, len(tcp)) + tcp) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0) + ends
    return head[:10] + checksum(head) + head[12:] + tcp


if sys.argv[1] == "write":
    with open("capture.pcap", "wb") as capture:
        capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 228))
        for second, (client, name) in enumerate(CLIENTS.items()):
            for step, parts in enumerate(CASES[name]):
                one = packet(client, *parts)
                capture.write(struct.pack("<IIII", 1700000000 + second, 1000 * step, len(one), len(one)) + one)
else:
    events = [json.loads(line) for line in open("eve.json")]
    for client, name in CLIENTS.items():
        own = [one for one in events if one["src_ip"] == client]
        flow = next(one for one in own if one["event_type"] == "flow")
        requests = [sorted(one["http"]) for one in own if one["event_type"] == "http"]
        print("%-34s %-11s %-11s" % (name, flow["flow"]["state"], flow["tcp"]["state"]), *[" ".join(one) for one in requests])
PYTHON
python3 capture.py write
"$loader" --library-path "$libraries" root/usr/bin/suricata -c suricata.yaml -S /dev/null -r capture.pcap -l . > run.log 2>&1
{
  "$loader" --library-path "$libraries" root/usr/bin/suricata -V | grep -o 'version [0-9.]*'
  python3 capture.py read | sed 's/ *$//'
} > seen
cat > expected <<'EXPECTED'
version 7.0.10
handshake                          established established
handshake, request                 established established hostname http_method length protocol url
handshake, request, response       established established hostname http_method length protocol status url
SYN, SYN-ACK                       new         syn_recv
SYN, SYN-ACK, wrong ACK            new         syn_recv
SYN, SYN-ACK, FIN with wrong ACK   established close_wait
SYN, SYN-ACK, FIN without ACK      established close_wait
SYN with request                   new         syn_sent
SYN with request and Fast Open     new         syn_sent    hostname http_method length protocol url
EXPECTED
cat seen
diff expected seen
