import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { z } from "zod";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const UNPACK = 'import("@sparticuz/chromium").then((browser) => browser.default.executablePath())';

/** Starts the Chromium that comes as a package, with the libraries that a bare machine lacks. */
export async function launchBrowser(): Promise<Browser> {
  const folder = await unpackChromium();
  return chromium.launch({
    executablePath: join(folder, "chromium"),
    // Containers and root have no sandbox. Not the package's own arguments: they keep all pages in one process.
    args: ["--no-sandbox"],
    env: {
      HOME: folder,
      LD_LIBRARY_PATH: join(folder, "al2023", "lib"),
      FONTCONFIG_PATH: join(folder, "fonts"),
    },
  });
}

/** A window of its own, without what others stored. `Intl` does not know its language, unless the options name one. */
export function openWindow(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ timezoneId: "UTC", ...options });
}

/** Unpacks once a machine, as that takes some seconds. @returns the folder. */
async function unpackChromium(): Promise<string> {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "noisefloor");
  const folder = join(cache, `chromium-${packageVersion()}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(join(cache, "unfinished-"));
  // The package unpacks into the folder for temporary files, and the libraries only where it believes that they lack.
  const env = { ...process.env, TMPDIR: unfinished, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
  await promisify(execFile)(process.execPath, ["-e", UNPACK], { cwd: ROOT, env });
  await writeFile(join(unfinished, "fonts", "fonts.conf"), fontsIn(join(folder, "fonts")));
  await rename(unfinished, folder).catch(async (error: unknown) => {
    await rm(unfinished, { recursive: true, force: true });
    // Another process was faster.
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

/** The package's own configuration names folders elsewhere, and Chromium ends when there is no font. */
function fontsIn(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${join(folder, "cache")}</cachedir></fontconfig>
`;
}

const manifestSchema = z.object({ version: z.string() });

function packageVersion(): string {
  const require = createRequire(import.meta.url);
  const manifest = join(dirname(require.resolve("@sparticuz/chromium")), "../../package.json");
  return manifestSchema.parse(require(manifest)).version;
}
