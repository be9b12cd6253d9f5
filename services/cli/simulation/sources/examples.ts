import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { toObservation } from "@noisefloor/ingest/tagging/rule-files/example.ts";
import { parse } from "yaml";
import { z } from "zod";
import { PREPARED_EXAMPLES_FILE, TAGS_DIRECTORY } from "../../paths.ts";
import type { Content } from "./content.ts";

/** An example of a tagging rule. */
export type Example = {
  readonly slug: string;
  /** The folder of the rule, like `web`. */
  readonly folder: string;
  readonly content: Content;
};

const fileSchema = z.object({ examples: z.array(z.unknown()).optional() });
const preparedSchema = z.record(z.string(), z.array(z.unknown()));

let starterExamples: Promise<readonly Example[]> | undefined;

/**
 * The examples of the starter catalogue, as simulated scanners send them: so every rule has something to match. Those
 * about an address, a network or a name of its own are left out. Read once: they come with the program.
 */
export function readExamples(): Promise<readonly Example[]> {
  starterExamples ??= readAll();
  return starterExamples;
}

async function readAll(): Promise<readonly Example[]> {
  const examples = Object.entries(await readFiles()).flatMap(([file, values]) => {
    const [folder = "", name = ""] = file.split("/");
    return values.flatMap((value) => {
      const observation = toObservation(value);
      if (typeof observation === "string" || isAboutSource(observation)) return [];
      return [{ slug: name.replace(/\.yaml$/, ""), folder, content: toContent(observation) }];
    });
  });
  return examples.sort((one, other) => (one.slug < other.slug ? -1 : 1));
}

/** By the path of their file. */
async function readFiles(): Promise<Record<string, unknown[]>> {
  const prepared = await readFile(PREPARED_EXAMPLES_FILE, "utf8").catch(() => undefined);
  if (prepared !== undefined) return preparedSchema.parse(JSON.parse(prepared));
  const names = (await readdir(TAGS_DIRECTORY, { recursive: true })).filter((name) => name.endsWith(".yaml")).sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const { examples = [] } = fileSchema.parse(parse(await readFile(join(TAGS_DIRECTORY, name), "utf8")));
      return [name, examples] as const;
    }),
  );
  return Object.fromEntries(files);
}

/** The address that an example has which names none. */
const NO_SOURCE = "8.8.8.8";

function isAboutSource({ source_ip, asn, organization, country, rdns }: WireObservation): boolean {
  return source_ip !== NO_SOURCE || [asn, organization, country, rdns].some((member) => member !== undefined);
}

const isEmpty = (value: unknown) =>
  value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Completes what examples leave out because no rule needs it. */
function toContent(observation: WireObservation): Content {
  const { transport, destination_port, application, credentials, login_attempts } = observation;
  const { commands, urls, payload_sha256, labels, http, tls, ssh } = observation;
  const isWeb = !isEmpty(http);
  const isShell = application === "ssh" || application === "telnet";
  const content = {
    ...{ transport: transport ?? "tcp", destination_port: destination_port ?? (isWeb ? 80 : 22) },
    application: application ?? (isWeb ? "http" : undefined),
    ...{ credentials, login_attempts, commands, urls, payload_sha256, labels, tls, ssh },
    http: isWeb
      ? { ...http, headers: http?.headers ?? ["Host", "User-Agent", "Accept", "Accept-Encoding"] }
      : undefined,
    isSession: isShell || !isEmpty(credentials) ? true : undefined,
  };
  return Object.fromEntries(Object.entries(content).filter(([, value]) => !isEmpty(value)));
}
