#!/bin/sh
# Cowrie 3.1.4 (PyPI): its JSON log ends local times with Z, which is UTC.
#
# Guess: a time that ends with Z is UTC, and "timezone = UTC", the default of Cowrie's settings, makes it so.
# Seen:  the setting puts TZ=UTC into the environment of the running process, where only Cowrie's choice of the Z sees it:
#        the clock goes on in the zone in which the process was started. Started with TZ=UTC, both agree.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cowrie==3.1.4
"$folder/venv/bin/pip" list --disable-pip-version-check | grep '^cowrie '

# Cowrie refuses to run as root.
cat > "$folder/start.py" <<'PYTHON'
import os
import sys

os.getuid = lambda: 1000
from twisted.scripts.twistd import run

sys.argv = ["twistd", "-n", "--pidfile=", "-l", "-", "cowrie"]
run()
PYTHON
cat > "$folder/look.py" <<'PYTHON'
import datetime
import json
import socket
import sys
import time

for _ in range(120):
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as connection:
            connection.recv(100)
        with open(sys.argv[2]) as log:
            text = json.loads(log.readline())["timestamp"]
        break
    except (OSError, ValueError):
        time.sleep(0.5)
written = datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc)
hours = (written - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / 3600
print("ends with %s, %d hours ahead" % (text[26:], round(hours)))
PYTHON

visit() {
  home="$folder/$2"
  mkdir -p "$home/etc" "$home/var/log/cowrie" "$home/var/run" "$home/var/lib/cowrie/downloads" "$home/var/lib/cowrie/tty"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  printf '[ssh]\nlisten_endpoints = tcp:%s:interface=127.0.0.1\n[output_jsonlog]\nenabled = true\nlogfile = %s\n' \
    "$port" "$home/cowrie.json" > "$home/etc/cowrie.cfg"
  (cd "$home" && TZ=$1 HOME=$home exec "$folder/venv/bin/python" "$folder/start.py" > "$home/output" 2>&1) &
  pid=$!
  printf 'TZ=%s: ' "$1"
  python3 "$folder/look.py" "$port" "$home/cowrie.json" || true
  kill "$pid"
  wait "$pid" 2> "$folder/ended" || true
}
{ visit EAST-9 east; visit UTC utc; } > "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
TZ=EAST-9: ends with Z, 9 hours ahead
TZ=UTC: ends with Z, 0 hours ahead
EXPECTED
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
