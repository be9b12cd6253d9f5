// Makes the pictures of the README, from a service with the demo's data; with --all also every page, light and dark,
// wide and narrow, in the folder that it names.
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { z } from "zod";
import { launchBrowser } from "../support/browser/browser.ts";
import { openExplorer } from "../support/browser/explorer-window.ts";
import { eventually } from "../support/eventually.ts";
import { openCommandLine } from "../support/worlds/command-line.ts";

const IMAGES = fileURLToPath(new URL("../../docs/images", import.meta.url));
const SLUG = "ssh-bruteforcer";
/** A week, and the week before, with which the pictures compare it. */
const DEMO_DAYS = "15";
const DEMO_TIMEOUT_MS = 600_000;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
const SCHEMES = ["light", "dark"] as const;

type Look = Required<Pick<BrowserContextOptions, "viewport" | "colorScheme">>;
type Shown = { readonly browser: Browser; readonly url: string; readonly key: string };

const { values } = parseArgs({ options: { all: { type: "string" } } });
const commandLine = await openCommandLine();
const browser = await launchBrowser();
try {
  const { url, output } = await commandLine.startService(["--demo", DEMO_DAYS]);
  await eventually(async () => {
    if (!/stored {4}\d+/.test(output())) throw new Error("the demo is not stored yet");
  }, DEMO_TIMEOUT_MS);
  const shown = { browser, url, key: await firstKey(commandLine.dataDir) };
  const address = await busyAddress(shown);
  await mkdir(IMAGES, { recursive: true });
  await shoot(shown, "/overview?days=7", { viewport: WIDE, colorScheme: "light" }, join(IMAGES, "overview.png"));
  await shoot(shown, `/ip/${address}`, { viewport: WIDE, colorScheme: "dark" }, join(IMAGES, "address.png"));
  if (values.all !== undefined) await shootAll(shown, address, values.all);
} finally {
  await browser.close();
  await commandLine.close();
}

async function firstKey(dataDir: string): Promise<string> {
  const name = (await readdir(dataDir)).find((file) => file.startsWith("first-key-"));
  if (name === undefined) throw new Error(`${dataDir} has no first key`);
  return (await readFile(join(dataDir, name), "utf8")).trim();
}

/** Of the addresses that a tag had in the last week, the one with the most observations. */
async function busyAddress({ url, key }: Shown): Promise<string> {
  const ask = async (path: string, body?: unknown): Promise<unknown> => {
    const request = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${url}${path}`, { ...request, headers: { key } })).json();
  };
  const tagList = z.object({ tags: z.tuple([z.object({ id: z.string() })]) });
  const [tag] = tagList.parse(await ask(`/v3/tags?slug=${SLUG}`)).tags;
  const activity = z.object({
    activity: z.object({ malicious: z.array(z.object({ ips: z.array(z.string()) })) }),
  });
  const week = `/v3/tags/${tag.id}/activity?days=7&granularity=168h&include_ips=true`;
  const ips = activity.parse(await ask(week)).activity.malicious.flatMap((bucket) => bucket.ips);
  const contexts = z.object({
    data: z.array(
      z.object({
        ip: z.string(),
        internet_scanner_intelligence: z.object({ metadata: z.object({ sensor_hits: z.int() }) }),
      }),
    ),
  });
  const hits = contexts
    .parse(await ask("/v3/ip", { ips }))
    .data.map(({ ip, internet_scanner_intelligence: { metadata } }) => ({ ip, hits: metadata.sensor_hits }))
    .sort((one, other) => other.hits - one.hits);
  if (hits[0] === undefined) throw new Error(`the demo has no address with the tag ${SLUG}`);
  return hits[0].ip;
}

async function shoot({ browser, url, key }: Shown, path: string, look: Look, file: string, isWhole = false) {
  const opened = await openExplorer(browser, url, { ...look, key });
  try {
    await opened.open(path);
    await opened.page.waitForLoadState("networkidle");
    await opened.page.screenshot({ path: file, fullPage: isWhole });
    if (opened.faults.length > 0) throw new Error(`${path}: ${opened.faults.join("; ")}`);
    console.log(file);
  } finally {
    await opened.close();
  }
}

async function shootAll(shown: Shown, address: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const pages = {
    today: "/today",
    overview: "/overview",
    address: `/ip/${address}`,
    service: "/riot/8.8.8.8",
    unknown: "/ip/45.77.99.1",
    network: `/networks/${address}/16`,
    tags: "/tags",
    tag: `/tags/${SLUG}?days=7&width=4h`,
    search: `/search?query=tags%3A${SLUG}`,
    compare: `/compare?query=tags%3A${SLUG}&with=port%3A23`,
    callbacks: "/callbacks?known=",
    feeds: "/feeds",
    feed: "/feeds/recent",
    watches: "/watches",
    "new-watch": `/watches?kind=tag_rises&value=${SLUG}`,
    sensors: "/sensors",
    plans: "/plans",
    missing: "/nowhere",
  };
  for (const colorScheme of SCHEMES) {
    for (const viewport of [WIDE, NARROW]) {
      for (const [name, path] of Object.entries(pages)) {
        const file = join(folder, `${name}-${colorScheme}-${viewport.width}.png`);
        await shoot(shown, path, { viewport, colorScheme }, file, true);
      }
    }
  }
}
