import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { makeFolder } from "../sensors/sensor.ts";
import { makeList, writeForm } from "../support/builders/feed.ts";
import { seeded } from "../support/builders/random.ts";
import { runProgram } from "../support/programs.ts";
import { installFeedClients } from "./feed-clients.ts";

const PROGRAM = `
import json, maxminddb, sys
for mode in (maxminddb.MODE_MMAP_EXT, maxminddb.MODE_MEMORY):
    with maxminddb.open_database(sys.argv[1], mode) as reader:
        print(json.dumps({
            "found": [reader.get(ip) for ip in json.load(open(sys.argv[2]))],
            "other": [reader.get(ip) for ip in ("0.0.0.0", "255.255.255.255", "2001:db8::1")],
        }))
`;

const VERIFIER = `package main

import (
	"log"
	"os"

	"github.com/oschwald/maxminddb-golang/v2"
)

func main() {
	for _, file := range os.Args[1:] {
		reader, err := maxminddb.Open(file)
		if err != nil {
			log.Fatal(err)
		}
		if err := reader.Verify(); err != nil {
			log.Fatal(file, ": ", err)
		}
	}
}
`;

test("Go's verifier finds nothing wrong with a file, also with one of no address", { timeout: 600_000 }, async () => {
  const random = seeded(4);
  const ips = Array.from({ length: 5_000 }, () => numberToIpv4(random.int(0x01000000, 0xdfffffff)));
  const known = Object.fromEntries(
    ips.map((ip) => [ip, { tags: random.chance(0.3) ? [`only-${ip}`, "mirai"] : ["mirai"] }]),
  );
  const folder = await makeFolder({ "main.go": VERIFIER, "go.mod": "module verifier\n\ngo 1.24\n" });
  await writeFile(join(folder, "many.mmdb"), await writeForm("mmdb", makeList(new Set(ips), known)));
  await writeFile(join(folder, "empty.mmdb"), await writeForm("mmdb", makeList([])));
  await runProgram("go", ["get", "-C", folder, "github.com/oschwald/maxminddb-golang/v2@v2.4.1"]);
  await runProgram("go", ["run", "-C", folder, ".", join(folder, "many.mmdb"), join(folder, "empty.mmdb")]);
});

test("libmaxminddb, and maxminddb in Python, find exactly the listed addresses", { timeout: 600_000 }, async () => {
  const random = seeded(3);
  const ips = Array.from({ length: 2_000 }, () => numberToIpv4(random.int(0x01000000, 0xdfffffff)));
  const folder = await makeFolder({ "ips.json": JSON.stringify(ips) });
  const database = join(folder, "noise.mmdb");
  await writeFile(database, await writeForm("mmdb", makeList(new Set(ips))));
  const output = await runProgram(await installFeedClients(), ["-c", PROGRAM, database, join(folder, "ips.json")]);
  const value = {
    classification: "malicious",
    last_seen: "2026-11-20T13:59:58Z",
    tags: ["mirai", "ssh-bruteforcer"],
  };
  const runs: unknown[] = output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(runs).toEqual(Array(2).fill({ found: ips.map(() => value), other: [null, null, null] }));
});
