#!/bin/sh
# rsyslog 8.2302 of Debian 12 (rsyslog-elasticsearch): what Elasticsearch answers with a 503 as a whole is lost.
#
# Guess: with action.resumeRetryCount="-1" a message stays in the queue until it is indexed.
# Seen:  only a connection that fails keeps it there. An error answer with a JSON body counts as handled, and the next
#        message follows: the lost one is in errorFile, where one is set, with retryfailures="on" too. By its
#        source rsyslog waits and sends it again from 8.2606 on.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages" "$folder/root"
(cd "$folder/packages" && apt-get -qq download rsyslog=8.2302.0-1+deb12u2 rsyslog-elasticsearch=8.2302.0-1+deb12u2 libestr0 libfastjson4 2> "$folder/warnings")
for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder/root"; done
libraries=$(dirname "$(find "$folder/root" -name 'libestr.so.0')")
export LD_LIBRARY_PATH="$libraries"
"$folder/root/usr/sbin/rsyslogd" -v | sed -n 's/^rsyslogd  \([0-9.]*\).*/rsyslogd \1/p'

# Answers the first bulk request with a 503, and all others as Elasticsearch does.
cat > "$folder/server.py" <<'PYTHON'
import http.server
import json
import sys

sent = []


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer(200, [])

    def do_POST(self):
        lines = self.rfile.read(int(self.headers["Content-Length"])).decode().splitlines()
        documents = [json.loads(line)["number"] for line in lines[1::2]]
        if not sent:
            error = {"type": "cluster_block_exception", "reason": "no master"}
            status, body = 503, {"error": error, "status": 503}
        else:
            items = [{"index": {"_index": "a", "_type": "_doc", "_id": str(n), "status": 201}} for n in documents]
            status, body = 200, {"took": 1, "errors": False, "items": items}
        sent.extend(documents)
        print(" ".join(map(str, documents)), status, flush=True)
        self.answer(status, body)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
PYTHON
python3 "$folder/server.py" "$folder/port" > "$folder/answered" &
server=$!
while ! [ -s "$folder/port" ]; do sleep 0.1; done
cat > "$folder/rsyslog.conf" <<RSYSLOG
global(workDirectory="$folder" net.enableDNS="off")
module(load="imfile" PollingInterval="1")
module(load="omelasticsearch")
input(type="imfile" File="$folder/log" Tag="log")
template(name="line" type="string" string="%msg%")
action(type="omelasticsearch" server="127.0.0.1" serverport="$(cat "$folder/port")" template="line" searchIndex="a" searchType=""
  bulkmode="on" retryfailures="on" errorFile="$folder/errors" action.resumeRetryCount="-1" action.resumeInterval="1"
  queue.type="linkedList" queue.dequeueBatchSize="1")
RSYSLOG
for number in 1 2 3; do echo "{\"number\":$number}"; done > "$folder/log"
"$folder/root/usr/sbin/rsyslogd" -n -f "$folder/rsyslog.conf" -i "$folder/pid" -M "$libraries/rsyslog" > "$folder/output" 2>&1 &
rsyslog=$!
sleep 20
kill "$rsyslog"
wait "$rsyslog" || true
kill "$server"
wait "$server" 2> "$folder/ended" || true
{
  cat "$folder/answered"
  echo "in errorFile: $(grep -c '\\"number\\":1' "$folder/errors")"
} > "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
1 503
2 200
3 200
in errorFile: 1
EXPECTED
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
