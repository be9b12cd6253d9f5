import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../support/builders/observation.ts";
import { runProgram } from "../support/programs.ts";
import { createServedWorld } from "../support/worlds/served-world.ts";
import { installFeedClients } from "./feed-clients.ts";

const PROGRAM = `
import json, sys
import stix2
from taxii2client.v21 import ApiRoot, Server, as_pages

url, user, token, added_after = sys.argv[1:]
# Links are made of the service's public address, which is not that of a test.
root = url + "root/"
server = Server(url, user=user, password=token)
(collection,) = ApiRoot(root, user=user, password=token).collections
options = {"added_after": added_after} if added_after else {}
objects, last = [], None
for envelope in as_pages(collection.get_objects, per_request=3, **options):
    for each in envelope.get("objects", []):
        parsed = stix2.parse(each, allow_custom=False)
        objects.append([parsed.type, parsed.name, bool(parsed.get("revoked", False))])
manifest = collection.get_manifest(**options).get("objects", [])
last = max((each["date_added"] for each in manifest), default="")
print(json.dumps({"title": server.title, "collection": collection.title, "objects": objects, "last": last}))
`;
const outputSchema = z.object({
  title: z.string(),
  collection: z.string(),
  objects: z.array(z.tuple([z.string(), z.string(), z.boolean()])),
  last: z.string(),
});

/** A service with two feeds of an analyst, `edge` and `mail`, with the analyst's key and a token of `edge`. */
async function serveFeed() {
  let now = Date.now();
  const world = await createServedWorld(() => now);
  onTestFinished(() => world.close());
  const ips = Array.from({ length: 8 }, (_, index) => `45.0.0.${index + 1}`);
  await world.store(ips.map((ip) => observation(ip, now - 60_000)));
  const key = await world.addCaller("unlimited");
  const put = async (query: string, name = "edge") => {
    now += 1_000;
    await world.app.inject({ method: "PUT", url: `/v3/feeds/${name}`, headers: { key }, payload: { query } });
  };
  await put("ip:45.0.0.0/24");
  await put("ip:45.0.0.0/24", "mail");
  const made = await world.app.inject({
    method: "POST",
    url: "/v3/feeds/edge/tokens",
    headers: { key },
    payload: { label: "platform" },
  });
  const { token } = z.object({ token: z.string() }).parse(made.json());
  return { url: world.url, ips, put, token, key };
}

const MISP_PROGRAM = `
import json, sys, urllib.request
from pymisp import MISPEvent

url, token = sys.argv[1:]
def read(name):
    request = urllib.request.Request(url + name, headers={"key": token})
    return json.load(urllib.request.urlopen(request))
(uuid, about), = read("manifest.json").items()
event = MISPEvent()
event.load(read(uuid + ".json"))
written = event.to_feed()["Event"]
print(json.dumps({
    "isSame": written["uuid"] == uuid and str(about["timestamp"]) == written["timestamp"] and event.Orgc.name == about["Orgc"]["name"],
    "attributes": [[each.type, each.value, bool(each.first_seen and each.last_seen), each.to_ids, bool(getattr(each, "deleted", False))] for each in event.attributes],
}))
`;

test("PyMISP 2.5 reads the event that a feed's manifest names, and its attributes", { timeout: 600_000 }, async () => {
  const python = await installFeedClients();
  const { url, ips, put, token } = await serveFeed();
  const read = async () =>
    JSON.parse(await runProgram(python, ["-c", MISP_PROGRAM, `${url}/v3/feeds/edge/misp//`, token]));
  const attributes = (gone: string) => ips.map((ip) => ["ip-src", ip, true, ip !== gone, ip === gone]);
  expect(await read()).toEqual({ isSame: true, attributes: attributes("") });
  await put("ip:45.0.0.0/24 -ip:45.0.0.3");
  expect(await read()).toEqual({ isSame: true, attributes: attributes("45.0.0.3") });
});

test("taxii2-client 2.3 pages through a feed and follows it, and stix2 3.0 takes every object", {
  timeout: 600_000,
}, async () => {
  const python = await installFeedClients();
  const { url, ips, put, token } = await serveFeed();
  const read = async (addedAfter: string) =>
    outputSchema.parse(
      JSON.parse(await runProgram(python, ["-c", PROGRAM, `${url}/taxii2/`, "any", token, addedAfter])),
    );

  const first = await read("");
  expect(first).toMatchObject({ title: "Noisefloor", collection: "edge" });
  expect(first.objects).toEqual([["identity", "Noisefloor", false], ...ips.map((ip) => ["indicator", ip, false])]);
  await put("ip:45.0.0.0/24 -ip:45.0.0.3");
  const second = await read(first.last);
  expect(second.objects).toEqual([["indicator", "45.0.0.3", true]]);
  expect((await read(second.last)).objects).toEqual([]);
});

const SOURCE_PROGRAM = `
import json, sys
from stix2 import Filter, TAXIICollectionSource
from taxii2client.v21 import ApiRoot

url, key = sys.argv[1:]
collections = {each.title: each for each in ApiRoot(url + "root/", user="any", password=key).collections}
source = TAXIICollectionSource(collections["edge"])
indicators = source.query([Filter("type", "=", "indicator")])
one = indicators[0].id
# As a client does that has one set of parameters for all the collections which it polls.
parameters, polled = {"limit": 3}, []
for title in ["edge", "mail"]:
    names = []
    while True:
        envelope = collections[title].get_objects(**parameters)
        names += [each["name"] for each in envelope.get("objects", [])]
        if not envelope["more"]:
            break
        parameters["next"] = envelope["next"]
    polled.append(names)
print(json.dumps({
    "found": [each.name for each in indicators],
    "one": source.get(one).name,
    "versions": len(source.all_versions(one)),
    "none": source.get("indicator--3ae0b0a2-7289-5fda-8a85-02d057ba0968"),
    "polled": polled,
}))
`;

test("stix2's own source reads a feed with its limit of 5,000, and a poll of two feeds in one go misses neither", {
  timeout: 600_000,
}, async () => {
  const python = await installFeedClients();
  const { url, ips, key } = await serveFeed();
  const output: unknown = JSON.parse(await runProgram(python, ["-c", SOURCE_PROGRAM, `${url}/taxii2/`, key]));
  const all = ["Noisefloor", ...ips];
  expect(output).toEqual({ found: ips, one: ips[0], versions: 1, none: null, polled: [all, all] });
});
