#!/usr/bin/env python3
"""Prints a log without the lines that scanners of the whole Internet and known benign services caused.

    python3 examples/quiet.py < /var/log/auth.log
"""
import json
import os
import re
import sys
import urllib.error
import urllib.request

URL = os.environ.get("NOISEFLOOR_URL", "http://localhost:8080")
KEY = os.environ.get("NOISEFLOOR_KEY")
ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
ADDRESSES_PER_CALL = 10_000


def known(addresses):
    """The addresses of these that Noisefloor knows."""
    headers = {"Content-Type": "application/json", **({"key": KEY} if KEY else {})}
    body = json.dumps({"ips": addresses}).encode()
    request = urllib.request.Request(f"{URL}/v3/ip?quick=true", body, headers)
    with urllib.request.urlopen(request) as response:
        return {record["ip"] for record in json.load(response)["data"]}


def main():
    lines = sys.stdin.readlines()
    addresses = sorted({address for line in lines for address in ADDRESS.findall(line)})
    noise = set()
    for start in range(0, len(addresses), ADDRESSES_PER_CALL):
        noise |= known(addresses[start : start + ADDRESSES_PER_CALL])
    sys.stdout.writelines(line for line in lines if noise.isdisjoint(ADDRESS.findall(line)))


try:
    main()
except urllib.error.HTTPError as error:
    sys.exit(f"{error.code}: {json.load(error)['message']}")
