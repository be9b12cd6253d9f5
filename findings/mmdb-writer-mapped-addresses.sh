#!/bin/sh
# mmdb_writer 0.2.7 (PyPI) with maxminddb 3.2.0 (PyPI) and mmdb-lib 3.0.3 (npm): what a dual-stack server looks up is not
# found in a file that was made for IPv4 and IPv6.
#
# Guess: with ip_version=6 and ipv4_compatible=True the file answers as MaxMind's own do, in which ::ffff:0:0/96 leads to
#        the tree of IPv4, so that the address of an IPv4 client at an IPv6 socket (::ffff:192.0.2.1) is found.
# Seen:  IPv4 stands in ::/96 alone. Readers find 192.0.2.1 and ::192.0.2.1, and for ::ffff:192.0.2.1 say that there is
#        nothing, without an error. The same network has to be inserted at ::ffff:192.0.2.0/120, too.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mmdb_writer==0.2.7 maxminddb==3.2.0 netaddr==1.3.0
npm install --silent --no-audit --no-fund mmdb-lib@3.0.3 > npm.log

cat > write.py <<'PYTHON'
from mmdb_writer import MMDBWriter
from netaddr import IPSet

for name, networks in (("once", ["192.0.2.0/24"]), ("twice", ["192.0.2.0/24", "::ffff:192.0.2.0/120"])):
    writer = MMDBWriter(6, "Example", languages=["en"], ipv4_compatible=True)
    writer.insert_network(IPSet(networks), {"seen": "yes"})
    writer.to_db_file(name + ".mmdb")
PYTHON
cat > read.py <<'PYTHON'
import maxminddb

for name in ("once", "twice"):
    with maxminddb.open_database(name + ".mmdb") as reader:
        for address in ("192.0.2.1", "::192.0.2.1", "::ffff:192.0.2.1"):
            print("maxminddb", name, address, "found" if reader.get(address) else "nothing")
PYTHON
cat > read.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { Reader } from "mmdb-lib";

for (const name of ["once", "twice"]) {
  const reader = new Reader(readFileSync(`${name}.mmdb`));
  for (const address of ["192.0.2.1", "::192.0.2.1", "::ffff:192.0.2.1"]) {
    console.log("mmdb-lib", name, address, reader.get(address) ? "found" : "nothing");
  }
}
JAVASCRIPT
venv/bin/python write.py
{
  venv/bin/python read.py
  node read.mjs
} > seen
cat > expected <<'EXPECTED'
maxminddb once 192.0.2.1 found
maxminddb once ::192.0.2.1 found
maxminddb once ::ffff:192.0.2.1 nothing
maxminddb twice 192.0.2.1 found
maxminddb twice ::192.0.2.1 found
maxminddb twice ::ffff:192.0.2.1 found
mmdb-lib once 192.0.2.1 found
mmdb-lib once ::192.0.2.1 found
mmdb-lib once ::ffff:192.0.2.1 nothing
mmdb-lib twice 192.0.2.1 found
mmdb-lib twice ::192.0.2.1 found
mmdb-lib twice ::ffff:192.0.2.1 found
EXPECTED
cat seen
diff expected seen
