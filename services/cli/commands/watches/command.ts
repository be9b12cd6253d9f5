import { NEW_VALUE_FIELDS } from "@noisefloor/domain/watches/watch.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { DefineCommand } from "../../framework/define-command.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import type { EventsOptions } from "./events.ts";
import type { AddOptions, ChangeOptions, DeleteOptions, WatchesOptions } from "./watches.ts";

const ADD_HELP = `
Examples:
  noisefloor watches add 'one of ours scans' --network 198.51.100.0/24 --webhook https://soar.example.org/hook
  noisefloor watches add 'new CVEs' --new-value cve --email soc@example.org
  noisefloor watches add 'silent sensors' --silent-after 30 --ntfy https://ntfy.example.org/noise

What is stored from now on may make events. docs/watches.md says what each kind of watch finds.`;

const CHANGE_HELP = `
Examples:
  noisefloor watches change ID --repeat-after-hours 72
  noisefloor watches change ID --slack https://hooks.slack.com/services/... --remove-destination 0f7c1f9a

What is not given stays. With another condition the watch begins anew: what is stored from then on counts.`;

const EVENTS_HELP = `
Examples:
  noisefloor watches events
  noisefloor watches events --follow --json | jq -r .summary`;

/** The options of every command that asks a query interface. */
const asking = (command: Command) =>
  command
    .option("--url <url>", "the query interface (default: QUERY_URL, else the service beside this command)")
    .option("--key <key>", "the key of a workspace (default: QUERY_KEY)")
    .option("--json", "as JSON", false);

/** The options that say what a watch waits for, and where its events go. */
const defining = (command: Command) =>
  command
    .option("--network <network...>", "waits until an address of these networks is seen")
    .option("--search <query>", "waits until an address begins to match a query, best in single quotes")
    .option("--tag <slug>", "waits until a tag rises above what is usual for the hour of the week")
    .addOption(
      new Option("--new-value <field>", "waits until a value is seen for the first time").choices(NEW_VALUE_FIELDS),
    )
    .option("--min-addresses <n>", "with --new-value: once so many addresses have it (default: 3)", positiveInteger)
    .option("--silent-after <minutes>", "waits until a sensor sends nothing for so long, from 5 on", positiveInteger)
    .option("--sensor <id...>", "with --silent-after: only these (default: each that the workspace may see)")
    .option(
      "--repeat-after-hours <n>",
      "tell again of what was told so long ago; 0 for never (default: 24 for networks and tags, else 0)",
      wholeNumber,
    )
    .option("--webhook <url...>", "deliver there, signed as of Standard Webhooks")
    .addOption(
      new Option("--webhook-format <format>", "the body of these webhooks (default: standard)").choices([
        "standard",
        "greynoise",
      ]),
    )
    .option("--slack <url...>", "deliver to an incoming webhook of Slack")
    .option("--mattermost <url...>", "deliver to an incoming webhook of Mattermost")
    .option("--ntfy <url...>", "deliver to a topic of ntfy")
    .option("--ntfy-token <token>", "for topics that take messages of some alone")
    .option("--email <address...>", "deliver as one mail to these, by the service's SMTP_URL and MAIL_FROM")
    .option("--syslog <receiver...>", "deliver to a host and port, like siem.example.org:6514")
    .addOption(new Option("--syslog-transport <transport>", "(default: tls)").choices(["tls", "tcp"]));

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It takes a whole number.");
  return Number(text);
}

export const define: DefineCommand = (watches, createContext) => {
  const definitions = () => import("./watches.ts");
  const events = () => import("./events.ts");

  asking(watches.command("list").description("list the watches of the workspace, in the order they were made")).action(
    async (options: WatchesOptions) => (await definitions()).runWatchesList(options, await createContext()),
  );
  asking(watches.command("show").description("show a watch, without its secrets"))
    .argument("<id>")
    .action(async (id: string, options: WatchesOptions) =>
      (await definitions()).runWatchesShow(id, options, await createContext()),
    );
  asking(defining(watches.command("add").description("make a watch, and show the secret of each webhook, once")))
    .argument("<name>", "what people call it")
    .option("--disabled", "let it wait for nothing yet", false)
    .addHelpText("after", ADD_HELP)
    .action(async (name: string, options: AddOptions) =>
      (await definitions()).runWatchesAdd(name, options, await createContext()),
    );
  asking(defining(watches.command("change").description("change a watch; destinations are added to those it has")))
    .argument("<id>")
    .option("--name <name>", "what people call it")
    .option("--remove-destination <id...>", "deliver there no more")
    .addHelpText("after", CHANGE_HELP)
    .action(async (id: string, options: ChangeOptions) =>
      (await definitions()).runWatchesChange(id, options, await createContext()),
    );
  asking(
    watches
      .command("enable")
      .description("let a watch make events, and switch on destinations that said they are gone"),
  )
    .argument("<id>")
    .action(async (id: string, options: WatchesOptions) =>
      (await definitions()).runWatchesEnable(id, true, options, await createContext()),
    );
  asking(watches.command("disable").description("keep a watch that makes no events"))
    .argument("<id>")
    .action(async (id: string, options: WatchesOptions) =>
      (await definitions()).runWatchesEnable(id, false, options, await createContext()),
    );
  asking(watches.command("delete").description("delete a watch; its events stay for 90 days"))
    .argument("<id>")
    .option("--yes", "without asking", false)
    .action(async (id: string, options: DeleteOptions) =>
      (await definitions()).runWatchesDelete(id, options, await createContext()),
    );
  asking(watches.command("test").description("send a test to every destination of a watch, and print what came back"))
    .argument("<id>")
    .action(async (id: string, options: WatchesOptions) =>
      (await definitions()).runWatchesTest(id, options, await createContext()),
    );
  asking(watches.command("events").description("print the newest events of a watch, or of all, the newest last"))
    .argument("[id]")
    .option("--limit <n>", "at most this many, up to 1000", positiveInteger, 20)
    .option("--follow", "go on with those to come, until it is stopped", false)
    .addHelpText("after", EVENTS_HELP)
    .action(async (id: string | undefined, options: EventsOptions) =>
      (await events()).runWatchesEvents(id, options, await createContext()),
    );
  asking(watches.command("deliveries").description("list how the deliveries of a watch go, the last ones first"))
    .argument("<id>")
    .option("--limit <n>", "at most this many, up to 1000", positiveInteger, 20)
    .action(async (id: string, options: WatchesOptions & { readonly limit: number }) =>
      (await events()).runWatchesDeliveries(id, options, await createContext()),
    );
  asking(watches.command("retry").description("deliver an event now to each destination that does not have it"))
    .argument("<id>", "the watch")
    .argument("<event>", "the event's id, as deliveries lists it")
    .action(async (id: string, event: string, options: WatchesOptions) =>
      (await events()).runWatchesRetry(id, event, options, await createContext()),
    );
};
