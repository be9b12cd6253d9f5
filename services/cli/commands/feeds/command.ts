import { FEED_SUBJECTS } from "@noisefloor/domain/feeds/feed-definition.ts";
import { type Command, Option } from "commander";
import type { DefineCommand } from "../../framework/define-command.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import type { DeleteOptions, FeedsOptions, PutOptions } from "./definitions.ts";

const PUT_HELP = `
Examples:
  noisefloor feeds put mirai 'tags:mirai last_seen:1d'
  noisefloor feeds put way-out 'tags:mirai' --of callbacks --days 3
  noisefloor feeds put web 'path:/wp-* OR path:/.env' --days 7 --limit 50000 --description 'web scanners'

What is not given gets its default, also when the feed exists. The language is described in docs/search.md.`;

/** The options of every command that asks a query interface. */
const asking = (command: Command) =>
  command
    .option("--url <url>", "the query interface (default: QUERY_URL, else the service beside this command)")
    .option("--key <key>", "the key of a workspace (default: QUERY_KEY)")
    .option("--json", "as JSON", false);

export const define: DefineCommand = (feeds, createContext) => {
  const definitions = () => import("./definitions.ts");
  const tokens = () => import("./tokens.ts");
  const guards = () => import("./guard.ts");

  asking(feeds.command("list").description("list the feeds of the workspace, the ready-made ones last")).action(
    async (options: FeedsOptions) => (await definitions()).runFeedsList(options, await createContext()),
  );
  asking(
    feeds.command("show").description("show a feed, also a ready-made one: recent, persistent, callbacks or tag-SLUG"),
  )
    .argument("<name>")
    .action(async (name: string, options: FeedsOptions) =>
      (await definitions()).runFeedsShow(name, options, await createContext()),
    );
  asking(feeds.command("history").description("list the lists that a feed had, and how many addresses came and left"))
    .argument("<name>")
    .action(async (name: string, options: FeedsOptions) =>
      (await definitions()).runFeedsHistory(name, options, await createContext()),
    );
  asking(feeds.command("guarded").description("list the addresses of a feed that the guard holds back, and why"))
    .argument("<name>")
    .action(async (name: string, options: FeedsOptions) =>
      (await guards()).runFeedsGuarded(name, options, await createContext()),
    );
  asking(feeds.command("put").description("make a feed of a search, or replace its definition"))
    .argument("<name>", "1 to 63 lower-case letters, digits and -")
    .argument("<query...>", "in the search language, best in single quotes; several words are one query")
    .addOption(
      new Option("--of <subject>", "lists them, or the hosts that they named (default: visitors)").choices(
        FEED_SUBJECTS,
      ),
    )
    .option("--days <n>", "only observations of the last days count (default: all that is stored)", positiveInteger)
    .option("--description <text>", "what it is for", "")
    .option("--limit <n>", "at most this many addresses, those seen last (default: 100000)", positiveInteger)
    .option(
      "--ttl-hours <n>",
      "how long a consumer keeps an address that it hears no more of (default: 24, of callbacks 72)",
      positiveInteger,
    )
    .option("--keep-fallen", "keep its addresses for an hour when half of them, or all, go at one refresh", false)
    .option("--no-guard", "list guarded addresses, too")
    .option("--disabled", "keep the definition, but answer no reader", false)
    .addHelpText("after", PUT_HELP)
    .action(async (name: string, words: string[], options: PutOptions) =>
      (await definitions()).runFeedsPut(name, words.join(" ").trim(), options, await createContext()),
    );
  asking(feeds.command("delete").description("delete a feed, and revoke its tokens"))
    .argument("<name>")
    .option("--yes", "without asking", false)
    .action(async (name: string, options: DeleteOptions) =>
      (await definitions()).runFeedsDelete(name, options, await createContext()),
    );

  const token = feeds.command("token").description("tokens, each of which reads one feed and nothing else");
  asking(token.command("create").description("make a token and show it, for the only time"))
    .argument("<name>", "the feed")
    .option("--label <text>", "who has it", "")
    .action(async (name: string, options: FeedsOptions & { readonly label: string }) =>
      (await tokens()).runTokenCreate(name, options, await createContext()),
    );
  asking(
    token
      .command("list")
      .description("list the tokens of a feed and when each was used last, without the tokens themselves"),
  )
    .argument("<name>", "the feed")
    .action(async (name: string, options: FeedsOptions) =>
      (await tokens()).runTokenList(name, options, await createContext()),
    );
  asking(token.command("revoke").description("revoke a token: within five seconds it reads nothing"))
    .argument("<name>", "the feed")
    .argument("<id>", "the token's id")
    .action(async (name: string, id: string, options: FeedsOptions) =>
      (await tokens()).runTokenRevoke(name, id, options, await createContext()),
    );

  const guard = feeds.command("guard").description("networks of the workspace that no feed lists");
  asking(guard.command("list").description("list them")).action(async (options: FeedsOptions) =>
    (await guards()).runGuardList(options, await createContext()),
  );
  asking(guard.command("add").description("guard a network or an address"))
    .argument("<network>", "like 198.51.100.0/24")
    .option("--note <text>", "whose it is", "")
    .action(async (network: string, options: FeedsOptions & { readonly note: string }) =>
      (await guards()).runGuardAdd(network, options, await createContext()),
    );
  asking(guard.command("remove").description("guard a network no longer"))
    .argument("<id>", "its id")
    .action(async (id: string, options: FeedsOptions) =>
      (await guards()).runGuardRemove(id, options, await createContext()),
    );
  asking(
    guard.command("attackers").description("list guarded addresses that attacked: their owners should know"),
  ).action(async (options: FeedsOptions) => (await guards()).runGuardAttackers(options, await createContext()));
  asking(guard.command("check").description("tell whether an address is guarded, and why"))
    .argument("<ip>")
    .action(async (ip: string, options: FeedsOptions) =>
      (await guards()).runGuardCheck(ip, options, await createContext()),
    );
};
