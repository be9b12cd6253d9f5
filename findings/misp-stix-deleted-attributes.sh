#!/bin/sh
# misp-stix 2026.10.12 (PyPI), MISP's own converter: an attribute that is deleted becomes an indicator like any other.
#
# Guess: "deleted": true, MISP's mark of an attribute that is no longer there, keeps it out of what is converted.
# Seen:  the deleted attribute is an indicator, and nothing tells it from the other one. With "to_ids": false, too,
#        it is observed data alone.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check misp-stix==2026.10.12

cat > "$folder/convert.py" <<'PYTHON'
from importlib.metadata import version

from misp_stix_converter import MISPtoSTIX21Parser

print("misp-stix", version("misp-stix"))


def attribute(number, **more):
    uuid = "8a55b4b0-8b8e-4b52-9e5a-6f1c0d0c8a%02d" % number
    about = {"uuid": uuid, "type": "ip-src", "category": "Network activity", "timestamp": "1795936015", "to_ids": True}
    return {**about, "value": "192.0.2.%d" % number, **more}


event = {
    "uuid": "8a55b4b0-8b8e-4b52-9e5a-6f1c0d0c8a99",
    "info": "example",
    "date": "2026-11-29",
    "timestamp": "1795936015",
    "published": True,
    "Orgc": {"name": "example", "uuid": "8a55b4b0-8b8e-4b52-9e5a-6f1c0d0c8a98"},
    "Attribute": [attribute(1), attribute(2, deleted=True), attribute(3, deleted=True, to_ids=False)],
}
parser = MISPtoSTIX21Parser()
parser.parse_misp_event({"Event": event})
for each in parser.bundle.objects:
    if each["type"] == "ipv4-addr":
        print("observed:", each["value"])
    if each["type"] == "indicator":
        print("indicator:", each["pattern"].split("'")[-2], "revoked:", each.get("revoked", False))
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/convert.py" > "$folder/seen"
cat "$folder/seen"
cat > "$folder/expected" <<'EXPECTED'
misp-stix 2026.10.12
observed: 192.0.2.1
indicator: 192.0.2.1 revoked: False
observed: 192.0.2.2
indicator: 192.0.2.2 revoked: False
observed: 192.0.2.3
EXPECTED
diff "$folder/expected" "$folder/seen"
