import { Option } from "commander";
import { UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import { type QueryClientOptions, queryClient } from "../../query-client/client.ts";
import { listAsCsv, listAsJson, listAsTable } from "./list.ts";
import { showCount, showStats } from "./stats.ts";

export type SearchOptions = QueryClientOptions & {
  readonly count: boolean;
  readonly stats: boolean;
  readonly json: boolean;
  readonly csv: boolean;
  readonly limit?: number | undefined;
  readonly days?: number | undefined;
};

const SEARCH_HELP = `
Examples:
  noisefloor search 'tags:mirai port:23'
  noisefloor search --csv 'classification:malicious last_seen:1d' > malicious.csv
  noisefloor search --stats 'path:/wp-* NOT country_code:US'

The language is described in docs/search.md. The command asks a running service, the one beside it unless --url or
QUERY_URL names another. Each listed address is a lookup; --count and --stats cost none.`;

export const define: DefineCommand = (search, createContext) => {
  search
    .argument("<query...>", "in the search language, best in single quotes; several words are one query")
    .addOption(new Option("--count", "only how many match").default(false).conflicts(["stats", "csv", "limit"]))
    .addOption(new Option("--stats", "only what they have in common").default(false).conflicts("csv"))
    .addOption(new Option("--csv", "all of them as CSV").default(false).conflicts("json"))
    .option("--json", "all of them with all that is known, an object a line; with --count or --stats one object", false)
    .option(
      "--limit <n>",
      "at most this many addresses, or entries a list (default: 25, or 10; all as JSON or CSV)",
      positiveInteger,
    )
    .option("--days <n>", "only observations of the last days count (default: all that is stored)", positiveInteger)
    .option("--url <url>", "the query interface (default: QUERY_URL, else the service beside this command)")
    .option("--key <key>", "the key of a workspace (default: QUERY_KEY, else none)")
    .addHelpText("after", SEARCH_HELP)
    .action(async (words: string[], options: SearchOptions) => {
      const query = words.join(" ").trim();
      if (query === "") throw new UserError("the query is empty: noisefloor search --help shows some");
      const context = await createContext();
      const search = { client: await queryClient(options, context), query, days: options.days, limit: options.limit };
      if (options.count) await showCount(search, options, context);
      else if (options.stats) await showStats(search, options, context);
      else if (options.json) await listAsJson(search, context);
      else if (options.csv) await listAsCsv(search, context);
      else await listAsTable(search, context);
    });
};
