#!/bin/sh
# Suricata 7.0.10 (Debian 13, package suricata): in a reputation list, `192.0.2.1` and `192.0.2.1/32` are not the same.
#
# Guess: both lines give one address a score in one category, and any number of them is loaded.
# Seen:  a plain address is an entry of the host table, a network one of a tree for its category. An address with a plain
#        line in category B (1) has the score 0 in category A, although a list gives its network 100 there, and (2) meets
#        `isset` for A and for every other category. With /32 both are as expected. (3) Of 300,000 plain lines those that
#        do not fit into the default host.memcap are lost; Suricata logs one error for all of them and starts. Of as many
#        lines with /32 none is lost.
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

printf '1,A,first\n2,B,second\n' > categories.txt
cat > suricata.yaml <<YAML
%YAML 1.1
---
vars: { address-groups: { HOME_NET: "[203.0.113.7/32]", EXTERNAL_NET: "!\$HOME_NET" } }
reputation-categories-file: $folder/categories.txt
default-reputation-path: $folder
reputation-files: [some.list]
classification-file: $folder/root/etc/suricata/classification.config
reference-config-file: $folder/root/etc/suricata/reference.config
outputs: [{ eve-log: { enabled: yes, filetype: regular, filename: eve.json, types: [alert] } }]
YAML
cat > some.rules <<'RULES'
alert ip any any -> any any (msg:"A over 99"; iprep:src,A,>,99; sid:1;)
alert ip any any -> any any (msg:"A is set"; iprep:src,A,isset; sid:2;)
alert ip any any -> any any (msg:"B over 49"; iprep:src,B,>,49; sid:3;)
RULES

cat > capture.py <<'PYTHON'
# One UDP packet from each address, in a capture of bare IPv4 packets.
import socket
import struct
import sys

with open("capture.pcap", "wb") as capture:
    capture.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 228))
    for second, sender in enumerate(sys.argv[1:]):
        ends = socket.inet_aton(sender) + socket.inet_aton("203.0.113.7")
        head = struct.pack("!BBHHHBBH", 0x45, 0, 32, 1, 0, 64, 17, 0) + ends
        total = sum(struct.unpack("!10H", head))
        total = (total & 0xFFFF) + (total >> 16)
        total = (total & 0xFFFF) + (total >> 16)
        packet = head[:10] + struct.pack("!H", ~total & 0xFFFF) + head[12:]
        packet += struct.pack("!HHHH", 41000, 5353, 12, 0) + b"test"
        capture.write(struct.pack("<IIII", 1700000000 + second, 0, len(packet), len(packet)) + packet)
PYTHON
cat > alerts.py <<'PYTHON'
import json

for line in sorted("%s: %s" % (one["src_ip"], one["alert"]["signature"]) for one in map(json.loads, open("eve.json"))):
    print(" ", line)
PYTHON
# alerts_on ADDRESS...: what the list some.list leads to.
alerts_on() {
  rm -f eve.json
  python3 capture.py "$@"
  "$loader" --library-path "$libraries" root/usr/bin/suricata -c suricata.yaml -S some.rules -r capture.pcap -l . > run.log 2>&1
  python3 alerts.py
  grep -o "failed to get a host, increase host.memcap" run.log || true
}

{
  "$loader" --library-path "$libraries" root/usr/bin/suricata -V | grep -o 'version [0-9.]*'
  for form in "" /32; do
    echo "192.0.2.1$form in B, 192.0.2.0/24 in A, 198.51.100.1$form in B:"
    printf "192.0.2.0/24,1,100\n192.0.2.1$form,2,50\n198.51.100.1$form,2,50\n" > some.list
    alerts_on 192.0.2.1 198.51.100.1
    echo "first and last of 300,000 lines like 11.0.0.0$form:"
    python3 -c "
for n in range(300000):
    address = (11 << 24) + 97 * n
    print('%d.%d.%d.%d$form,2,50' % (address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255))" > some.list
    alerts_on 11.0.0.0 "$(tail -1 some.list | sed 's/[/,].*//')" | grep -v 'A is set'
  done
} > seen
cat > expected <<'EXPECTED'
version 7.0.10
192.0.2.1 in B, 192.0.2.0/24 in A, 198.51.100.1 in B:
  192.0.2.1: A is set
  192.0.2.1: B over 49
  198.51.100.1: A is set
  198.51.100.1: B over 49
first and last of 300,000 lines like 11.0.0.0:
  11.0.0.0: B over 49
failed to get a host, increase host.memcap
192.0.2.1/32 in B, 192.0.2.0/24 in A, 198.51.100.1/32 in B:
  192.0.2.1: A is set
  192.0.2.1: A over 99
  192.0.2.1: B over 49
  198.51.100.1: B over 49
first and last of 300,000 lines like 11.0.0.0/32:
  11.0.0.0: B over 49
  12.188.7.127: B over 49
EXPECTED
cat seen
diff expected seen
