#!/bin/sh
# OpenCanary 0.9.10 (PyPI): what its webhook sends depends on the exact text of a header, and a 202 counts as a failure.
#
# Guess: a webhook posts JSON, and any 2xx status is a success.
# Seen:  without a header the record is form-encoded (message=%7B...). It is JSON only if some header is exactly
#        "application/json". With "application/json; charset=utf-8" the body is still a form, under a header that says
#        JSON. A receiver that answers 202 makes it print "Error 202" for each event, unless status_code is set.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opencanary==0.9.10

cat > "$folder/send.py" <<'PYTHON'
import contextlib
import http.server
import io
import logging
import threading

from opencanary.logger import WebhookHandler

bodies = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(202)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d/" % server.server_port
record = logging.LogRecord("canary", logging.INFO, "", 0, '{"logtype": 4002}', None, None)


def sent(**options):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        WebhookHandler(url, **options).emit(record)
    kind = "json" if bodies[-1].startswith("{") else "form" if bodies[-1].startswith("message=%7B") else bodies[-1]
    return "%s, %s" % (kind, "error" if "Error 202" in output.getvalue() else "silent")


print("no header:", sent())
print("application/json:", sent(headers={"Content-Type": "application/json"}))
print("with a charset:", sent(headers={"Content-Type": "application/json; charset=utf-8"}))
print("status_code 202:", sent(headers={"Content-Type": "application/json"}, status_code=202))
PYTHON

"$folder/venv/bin/python" -W ignore "$folder/send.py" > "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
no header: form, error
application/json: json, error
with a charset: form, error
status_code 202: json, silent
EXPECTED
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
