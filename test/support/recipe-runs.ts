import { createServer } from "node:http";
import { recipesFor } from "@noisefloor/domain/feeds/callback-recipes.ts";
import type { FeedSubject } from "@noisefloor/domain/feeds/feed-definition.ts";
import { onTestFinished } from "vitest";
import { runProgram } from "./programs.ts";

/** What a download gets: a list, half of one, a page of something between, nothing at all, or an error. */
export type FeedAnswer = {
  readonly kind: "list" | "cut" | "page" | "nothing" | "error";
  readonly body?: string;
  /** Where consumers read several forms: the body of each, by the path's end. */
  readonly forms?: Readonly<Record<string, string>>;
};

/** Answers every request with the latest answer that it was given, until the test ends. */
export async function startFeedServer() {
  let answer: FeedAnswer = { kind: "error" };
  const server = createServer(({ url = "" }, response) => {
    const body =
      answer.kind === "page"
        ? "<html><body>Log in</body></html>\n"
        : (answer.forms?.[url.slice(url.indexOf(".") + 1)] ?? answer.body ?? "");
    const isList = answer.kind === "list" || answer.kind === "cut";
    response.writeHead(answer.kind === "error" ? 503 : 200, {
      "content-length": Buffer.byteLength(body),
      ...(isList && { "feed-cursor": "cursor" }),
    });
    if (answer.kind !== "cut") {
      response.end(body);
      return;
    }
    response.write(body.slice(0, body.length / 2));
    setTimeout(() => response.destroy(), 50);
  });
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const give = (next: FeedAnswer) => {
    answer = next;
  };
  return { url: `http://127.0.0.1:${address.port}`, give };
}

/** The lines for a consumer that reads the feed `edge`, with a test's folder in place of the consumer's own. */
export function linesFor(consumer: string, url: string, folder: string, of: FeedSubject = "visitors"): string {
  const recipe = recipesFor(of).find((one) => one.consumer === consumer);
  const lines = recipe?.lines({ url, name: "edge", id: "", token: "nff_token" }) ?? "";
  return lines.replaceAll(
    /\/(?:var\/lib\/(?:bind|unbound)|etc\/(?:haproxy|nginx|apache2|powerdns|suricata\/rules|dnsmasq\.d))\//g,
    `${folder}/`,
  );
}

/**
 * Runs lines as the timer does.
 * @param programs shell commands by the name that the lines call each with; `"$@"` are the arguments.
 * @returns whether they succeeded.
 */
export async function runLines(lines: string, programs: Readonly<Record<string, string>>): Promise<boolean> {
  const functions = Object.entries(programs).map(([name, command]) => `${name}() { ${command}; }`);
  try {
    await runProgram("sh", ["-c", [...functions, lines].join("\n")]);
    return true;
  } catch {
    return false;
  }
}
