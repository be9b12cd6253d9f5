/** What a browser and Grafana's server know when they expand a panel's query. */
export type Expansion = {
  /** The range, in milliseconds since 1970 UTC. */
  readonly from: number;
  readonly to: number;
  /** The width of a point of the panel, in milliseconds. */
  readonly interval: number;
  /** The values of the dashboard's variables; several of one that takes several. */
  readonly variables: Readonly<Record<string, string | readonly string[]>>;
};

/**
 * A query as ClickHouse gets it: what Grafana's browser expands (template variables, `$__conditionalAll`), and then
 * what the data source's server does.
 * @throws Error for a macro or a variable that neither knows.
 */
export function expandQuery(sql: string, expansion: Expansion): string {
  const sent = expandVariables(expandConditions(sql, expansion), expansion);
  const asked = expandMacros(sent, expansion);
  const left = /\$[\w{]+/.exec(asked);
  if (left !== null) throw new Error(`nothing expands ${left[0]} in ${asked}`);
  return asked;
}

const ALL = "$__all";

function expandConditions(sql: string, { variables }: Expansion): string {
  return replaceCalls(sql, "conditionalAll", ([condition = "", variable = "", ...more]) => {
    const name = /^\$\{?(\w+)\}?$/.exec(variable)?.[1];
    if (name === undefined || more.length > 0) throw new Error(`$__conditionalAll takes a condition and a variable`);
    const values = [variables[name] ?? []].flat();
    return values.length === 0 || values.includes("") || values.includes(ALL) ? "1=1" : condition;
  });
}

function expandVariables(sql: string, { variables }: Expansion): string {
  return sql.replace(/\$\{(\w+)(?::(\w+))?\}|\$(?!_)(\w+)/g, (_, braced, format, bare) => {
    const name: string = braced ?? bare;
    const value = variables[name];
    if (value === undefined) throw new Error(`there is no variable ${name}`);
    const values = [value].flat();
    if (format === "singlequote") return values.map((one) => `'${one.replaceAll("'", "\\'")}'`).join(",");
    if (format !== undefined || values.length !== 1)
      throw new Error(`${name} as ${format ?? "a text"} is not one we use`);
    return values.join("");
  });
}

function expandMacros(sql: string, { from, to, interval }: Expansion): string {
  const [start, end] = [Math.floor(from / 1000), Math.floor(to / 1000)];
  const seconds = Math.max(Math.floor(interval / 1000), 1);
  const [first, last] = [from, to].map((time) => new Date(time).toISOString().slice(0, 10));
  const macros: Readonly<Record<string, (of: readonly string[]) => string>> = {
    timeFilter: ([c]) => `${c} >= toDateTime(${start}) AND ${c} <= toDateTime(${end})`,
    timeFilter_ms: ([c]) => `${c} >= fromUnixTimestamp64Milli(${from}) AND ${c} <= fromUnixTimestamp64Milli(${to})`,
    dateFilter: ([c]) => `${c} >= toDate('${first}') AND ${c} <= toDate('${last}')`,
    timeInterval: ([c]) => `toStartOfInterval(toDateTime(${c}), INTERVAL ${seconds} second)`,
    timeFrom: ([c]) => `${c} >= toDateTime(${start})`,
    timeTo: ([c]) => `${c} <= toDateTime(${end})`,
  };
  let expanded = sql;
  for (const [name, macro] of Object.entries(macros)) {
    expanded = replaceCalls(expanded, name, (given) => {
      if (given.length !== 1 || given[0] === "") throw new Error(`$__${name} takes one column, not ${given.length}`);
      return macro(given);
    });
  }
  return expanded
    .replace(/\$__fromTime\b/g, `toDateTime(${start})`)
    .replace(/\$__toTime\b/g, `toDateTime(${end})`)
    .replace(/\$__interval_s\b/g, String(seconds));
}

/** Replaces each `$__name(…)`; its arguments are those between the commas outside further parentheses. */
function replaceCalls(sql: string, name: string, replacement: (given: readonly string[]) => string): string {
  const call = `$__${name}(`;
  const at = sql.indexOf(call);
  if (at < 0) return sql;
  const given: string[] = [""];
  let depth = 1;
  let end = at + call.length;
  for (; depth > 0; end++) {
    const character = sql[end];
    if (character === undefined) throw new Error(`${call} has no end in ${sql}`);
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (character === "," && depth === 1) given.push("");
    else if (depth > 0) given[given.length - 1] += character;
  }
  const before = sql.slice(0, at);
  return before + replacement(given.map((one) => one.trim())) + replaceCalls(sql.slice(end), name, replacement);
}
