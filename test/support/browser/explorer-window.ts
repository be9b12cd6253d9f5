import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { z } from "zod";
import { openWindow } from "./browser.ts";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export type ExplorerOptions = Pick<BrowserContextOptions, "viewport" | "colorScheme" | "locale"> & {
  /** As if it had been entered before. */
  readonly key?: string;
};

/** A window of the explorer, with what went wrong in it. */
export type ExplorerWindow = {
  readonly page: Page;
  /** The browser of this window, whose tabs share what they store. */
  readonly context: BrowserContext;
  /** Opens a path, and waits until nothing loads any more. */
  open(path: string): Promise<void>;
  settled(): Promise<void>;
  /** Errors in the console, uncaught ones, what the policy forbade, and requests to other hosts. */
  readonly faults: string[];
  close(): Promise<void>;
};

export async function openExplorer(
  browser: Browser,
  url: string,
  { key, ...options }: ExplorerOptions = {},
): Promise<ExplorerWindow> {
  const context = await openWindow(browser, { viewport: { width: 1280, height: 900 }, ...options });
  if (key !== undefined) await context.addInitScript(`localStorage.setItem("noisefloor-key", ${JSON.stringify(key)})`);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    // What the browser says of an answer with an error is no fault: the page must say it.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const target = request.url();
    if (!target.startsWith(`${url}/`) && !/^(?:data|blob):/.test(target)) faults.push(`a request to ${target}`);
    if (key !== undefined && target.includes(key)) faults.push("the key in a URL");
  });
  const settled = async () => {
    await page.waitForSelector(SETTLED);
  };
  const opened: ExplorerWindow = {
    page,
    context,
    faults,
    settled,
    async open(path) {
      await page.goto(`${url}${path}`);
      await settled();
    },
    close: () => context.close(),
  };
  return opened;
}

const SETTLED = "body:has(h1):not(:has(.loading, [aria-busy=true]))";

/** Enters a key as a person does, and waits until the service has accepted it. */
export async function enterKey({ page, settled }: ExplorerWindow, key: string): Promise<void> {
  await page.getByRole("button", { name: "Key" }).click();
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.locator("dialog[open]").waitFor({ state: "detached" });
  await settled();
}

/** Clicks a button. @returns the text of the file that it saves. */
export async function savedBy({ page }: ExplorerWindow, button: string): Promise<string> {
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  return text(await (await download).createReadStream());
}

const violations = z.array(z.object({ id: z.string(), impact: z.string().nullish(), targets: z.array(z.string()) }));

/** Expects that axe finds nothing serious, and that the page is not wider than its window. */
export async function expectAccessible({ page, settled }: ExplorerWindow, name: string): Promise<void> {
  await settled();
  await page.evaluate(await readFile(AXE, "utf8"));
  const found = violations.parse(await page.evaluate(FIND_VIOLATIONS));
  const serious = found.filter(({ impact }) => impact === "serious" || impact === "critical");
  expect([name, serious]).toEqual([name, []]);
  const overflow = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
  expect([name, "pixels too wide", overflow]).toEqual([name, "pixels too wide", 0]);
}

const FIND_VIOLATIONS = `axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, impact, nodes }) => ({ id, impact, targets: nodes.map(({ html }) => html.slice(0, 200)) })))`;
