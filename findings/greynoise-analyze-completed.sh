#!/bin/sh
# greynoise 2.3.0 (PyPI): analyze() cannot take an answer that is ready at once, and sleeps after the last one.
#
# Guess: a client that polls until the state is "completed" takes an upload that is completed already.
# Seen:  it reads the details from the last poll alone. An upload answered with "completed", which the interface allows,
#        ends in UnboundLocalError. After one poll that says "completed" it sleeps five seconds more before it returns.
#        3.1.0 takes both, and sleeps as well.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/2.3.0"
"$folder/2.3.0/bin/pip" install --quiet --disable-pip-version-check greynoise==2.3.0
python3 -m venv "$folder/3.1.0"
"$folder/3.1.0/bin/pip" install --quiet --disable-pip-version-check greynoise==3.1.0

cat > "$folder/analyze.py" <<'PYTHON'
import http.server
import io
import json
import sys
import threading
import time

DETAILS = {"unique_ips": 1, "noise_ips": 0, "non_noise_ips": 1, "riot_ips": 0, "noise_ips_found": [],
           "unknown_ips": ["198.51.100.7"], "riot_ips_found": [], "percentage_of_noise_ips": 0, "percentage_of_riot_ips": 0}
UUID = "5d1a4f60-3f3f-4f6e-9d5f-5f4c1d1f8a10"
states = []


class Service(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.dumps({"uuid": UUID, "state": states.pop(0), "details": DETAILS, "stats": {}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
from greynoise import GreyNoise

options = dict(api_key="none", api_server="http://127.0.0.1:%d" % server.server_port, integration_name="test")
if sys.argv[1].startswith("3"):
    from greynoise.api import APIConfig

    client = GreyNoise(APIConfig(**options))
else:
    client = GreyNoise(**options)
for kind, said in (("completed at once", ["completed"]), ("one poll", ["in_progress", "completed"])):
    states[:] = said
    start = time.monotonic()
    try:
        result = "%d address" % client.analyze(io.StringIO("198.51.100.7"))["count"]
    except Exception as error:
        result = type(error).__name__
    slept = "slept" if time.monotonic() - start >= 5 else "no sleep"
    print("%s, %s: %s, %s" % (sys.argv[1], kind, result, slept))
PYTHON
for version in 2.3.0 3.1.0; do
  "$folder/$version/bin/python" -W ignore "$folder/analyze.py" "$version"
done > "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
2.3.0, completed at once: UnboundLocalError, no sleep
2.3.0, one poll: 1 address, slept
3.1.0, completed at once: 1 address, no sleep
3.1.0, one poll: 1 address, slept
EXPECTED
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
