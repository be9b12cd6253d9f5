#!/bin/sh
# Fastify 5.12.8 (npm) and taxii2-client 2.3.0 (PyPI): a media type that is set for a text is not the one that is sent,
# and the client refuses what arrives.
#
# Guess: reply.type("application/taxii+json;version=2.1") sends these words, whatever the body is.
# Seen:  with a body of text Fastify parses any type that contains "json" and writes it anew: the parameter gets quotes
#        and a charset is added. RFC 9110 takes both spellings for the same; taxii2-client looks for the exact word
#        version=2.1 and raises TAXIIServiceException. With the same bytes as a Buffer the type stays as it was set.
set -eu
folder=$(mktemp -d)
trap 'kill "$server" 2> "$folder/ignored" || true; rm -rf "$folder"' EXIT
server=0
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check taxii2-client==2.3.0
npm install --silent --no-audit --no-fund --prefix "$folder" fastify@5.12.8 > "$folder/npm.log"

cat > "$folder/server.mjs" <<'JAVASCRIPT'
import fastify from "fastify";

const app = fastify();
const root = JSON.stringify({ title: "root", versions: ["application/taxii+json;version=2.1"], max_content_length: 1000 });
const type = "application/taxii+json;version=2.1";
app.get("/text/", (_request, reply) => reply.type(type).send(root));
app.get("/bytes/", (_request, reply) => reply.type(type).send(Buffer.from(root)));
console.log(await app.listen({ host: "127.0.0.1", port: 0 }));
JAVASCRIPT
node "$folder/server.mjs" > "$folder/url" &
server=$!
until [ -s "$folder/url" ]; do kill -0 "$server" && sleep 0.1; done

cat > "$folder/ask.py" <<'PYTHON'
import sys
import urllib.request

from taxii2client.v21 import ApiRoot

for kind in ("text", "bytes"):
    url = "%s/%s/" % (sys.argv[1], kind)
    print(kind, urllib.request.urlopen(url).headers["content-type"])
    try:
        print(kind, "title:", ApiRoot(url).title)
    except Exception as error:
        print(kind, type(error).__name__)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/ask.py" "$(cat "$folder/url")" 2> "$folder/warnings" > "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
text application/taxii+json; version="2.1"; charset=utf-8
text TAXIIServiceException
bytes application/taxii+json;version=2.1
bytes title: root
EXPECTED
cat "$folder/seen"
diff "$folder/expected" "$folder/seen"
