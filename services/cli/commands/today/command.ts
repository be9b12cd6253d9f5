import { randomUUID } from "node:crypto";
import { sendMail } from "@noisefloor/mail/send-mail.ts";
import { todaySchema } from "@noisefloor/query/today/operation.ts";
import { plainLine } from "@noisefloor/query/watches/deliver/plain-text.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { printable } from "../../framework/output.ts";
import { type QueryClientOptions, queryClient } from "../../query-client/client.ts";
import { formatToday, summarizeToday } from "./format.ts";

type TodayOptions = QueryClientOptions & { readonly to?: readonly string[]; readonly json: boolean };

const TODAY_HELP = `
Examples:
  noisefloor today
  noisefloor today --to soc@example.org

With a key it also says which own networks scan, which sensors are silent, and which feeds grew or shrank. The command
asks a running service, the one beside it unless --url or QUERY_URL names another.`;

/** Longer texts of attackers are cut in a mail. */
const MAX_MAIL_TEXT = 200;

export const define: DefineCommand = (today, createContext) => {
  today
    .option("--to <address...>", "send it as a mail, by the settings SMTP_URL and MAIL_FROM, instead of printing it")
    .option("--url <url>", "the query interface (default: QUERY_URL, else the service beside this command)")
    .option("--key <key>", "the key of a workspace (default: QUERY_KEY, else none)")
    .option("--json", "as JSON", false)
    .addHelpText("after", TODAY_HELP)
    .action(async (options: TodayOptions) => runToday(options, await createContext()));
};

async function runToday({ to, json, ...options }: TodayOptions, context: CommandContext): Promise<void> {
  const { mail } = context.settings;
  if (to !== undefined && mail === undefined) throw new UserError("a mail needs the settings SMTP_URL and MAIL_FROM");
  const client = await queryClient(options, context);
  const news = await client.ask({ path: "/v3/today" }, todaySchema);
  if (to === undefined || mail === undefined) {
    if (json) context.print(JSON.stringify(news));
    else for (const line of formatToday(news, printable)) context.print(line);
    return;
  }
  const lines = formatToday(news, (text) => plainLine(text, MAX_MAIL_TEXT));
  const sent = { to, subject: `Noisefloor: ${summarizeToday(news)}`, text: `${lines.join("\n")}\n`, id: randomUUID() };
  const response = await sendMail(mail, sent, context.signal).catch((error: unknown) => {
    throw new UserError(`the mail was not sent: ${error instanceof Error ? error.message : String(error)}`);
  });
  context.print(json ? JSON.stringify({ to, response }) : `sent to ${to.join(", ")}: ${printable(response)}`);
}
