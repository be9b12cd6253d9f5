import { parser } from "@prometheus-io/lezer-promql";

type Node = ReturnType<typeof parser.parse>["topNode"];
type Labels = Readonly<Record<string, string>>;

export type Sample = { readonly name: string; readonly labels: Labels; readonly value: number };
/** The samples of one round of scrapes, at a time in seconds since 1970. */
export type Round = { readonly at: number; readonly samples: readonly Sample[] };

type Point = { readonly labels: Labels; readonly value: number };
type Series = { readonly labels: Labels; readonly points: readonly (readonly [at: number, value: number])[] };

/** Parses the text of a scrape. @param own labels that Prometheus adds by itself. */
export function readScrape(text: string, own: Labels): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = "", of = ""]) => [label, of] as const);
    return [{ name, labels: { ...Object.fromEntries(pairs), ...own }, value: Number(value) }];
  });
}

/**
 * The value of an expression at the last of some rounds, by Prometheus' own grammar, as far as our alerts need it:
 * everything else is an error. Rates are not extrapolated to the edges of their range, so they are good for asking
 * whether there is any, and for ratios.
 */
export function evaluate(expression: string, rounds: readonly Round[]): readonly Point[] {
  const root = parser.parse(expression).topNode.firstChild;
  if (root === null) throw new Error("there is no expression");
  const value = compute(root, rounds, expression);
  if (typeof value === "number") throw new Error(`${expression} is a number: as an alert it would always be there`);
  return value;
}

function compute(node: Node, rounds: readonly Round[], text: string): number | readonly Point[] {
  const now = rounds.at(-1);
  if (now === undefined) return [];
  switch (node.name) {
    case "NumberDurationLiteral":
      return Number(textOf(node, text));
    case "VectorSelector":
      return now.samples.filter(selecting(node, text));
    case "AggregateExpr":
      return aggregate(node, rounds, text);
    case "FunctionCall":
      return call(node, rounds, text);
    case "BinaryExpr":
      return combine(node, rounds, text);
    default:
      throw new Error(`${node.name} at "${textOf(node, text)}" in ${text}`);
  }
}

const textOf = ({ from, to }: Node, text: string) => text.slice(from, to);

function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function vectorOf(node: Node | undefined, rounds: readonly Round[], text: string): readonly Point[] {
  const value = node === undefined ? 0 : compute(node, rounds, text);
  if (typeof value === "number") throw new Error(`a number where a vector belongs, in ${text}`);
  return value;
}

function selecting(node: Node, text: string): (sample: Sample) => boolean {
  const name = textOf(node.getChild("Identifier") ?? node, text);
  const matchers = (node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? []).map((matcher) => {
    const [label = "", operator, quoted = ""] = childrenOf(matcher).map((part) => textOf(part, text));
    const wanted = quoted.slice(1, -1);
    const pattern = new RegExp(`^(?:${wanted})$`);
    return ({ [label]: value = "" }: Labels) =>
      operator === "="
        ? value === wanted
        : operator === "!="
          ? value !== wanted
          : pattern.test(value) === (operator === "=~");
  });
  return (sample) => sample.name === name && matchers.every((fits) => fits(sample.labels));
}

/** The points of a series, or of an expression at each round, within a range. */
function rangesOf(node: Node | undefined, rounds: readonly Round[], text: string): readonly Series[] {
  const [inner, duration] = node === undefined ? [] : childrenOf(node);
  if (node === undefined || inner === undefined || duration === undefined) throw new Error(`no range in ${text}`);
  const [, minutes] = /^(\d+)m$/.exec(textOf(duration, text)) ?? [];
  const from = (rounds.at(-1)?.at ?? 0) - Number(minutes) * 60;
  const series = new Map<string, { labels: Labels; points: [number, number][] }>();
  for (const [index, round] of rounds.entries()) {
    if (round.at < from) continue;
    for (const { labels, value } of vectorOf(inner, rounds.slice(0, index + 1), text)) {
      const key = keyOf(labels);
      const one = series.get(key) ?? { labels, points: [] };
      series.set(key, one);
      one.points.push([round.at, value]);
    }
  }
  return [...series.values()];
}

/** The same for the same labels, in whatever order. */
export const keyOf = (labels: Labels) => JSON.stringify(Object.entries(labels).sort());

function call(node: Node, rounds: readonly Round[], text: string): number | readonly Point[] {
  const name = textOf(node.getChild("FunctionIdentifier") ?? node, text);
  const given = childrenOf(node.getChild("FunctionCallBody") ?? node);
  switch (name) {
    case "time":
      return rounds.at(-1)?.at ?? 0;
    case "absent":
      return vectorOf(given[0], rounds, text).length > 0 ? [] : [{ labels: {}, value: 1 }];
    case "abs":
      return vectorOf(given[0], rounds, text).map((point) => ({ ...point, value: Math.abs(point.value) }));
    case "rate":
      return slopes(rangesOf(given[0], rounds, text), (rise, last) => (rise < 0 ? last : rise));
    case "deriv":
      return slopes(rangesOf(given[0], rounds, text), (rise) => rise);
    case "histogram_quantile":
      return quantiles(Number(given[0] && textOf(given[0], text)), vectorOf(given[1], rounds, text));
    default:
      throw new Error(`${name}() in ${text}`);
  }
}

/** The increase a second from the first to the last point; none for a single point. */
function slopes(series: readonly Series[], step: (rise: number, last: number) => number): Point[] {
  return series.flatMap(({ labels, points }) => {
    const [first, last] = [points.at(0), points.at(-1)];
    if (first === undefined || last === undefined || points.length < 2) return [];
    const rises = points.slice(1).map(([, value], index) => step(value - (points[index]?.[1] ?? 0), value));
    return [{ labels, value: rises.reduce((sum, rise) => sum + rise, 0) / (last[0] - first[0]) }];
  });
}

/** The upper edge of the bucket that a quantile falls into. */
function quantiles(quantile: number, buckets: readonly Point[]): Point[] {
  const groups = new Map<string, { labels: Labels; buckets: { edge: number; value: number }[] }>();
  for (const { labels: of, value } of buckets) {
    const { le = "", ...labels } = of;
    const group = groups.get(keyOf(labels)) ?? { labels, buckets: [] };
    groups.set(keyOf(labels), group);
    group.buckets.push({ edge: Number(le.replace("+Inf", "Infinity")), value });
  }
  return [...groups.values()].flatMap(({ labels, buckets: sorted }) => {
    sorted.sort((one, other) => one.edge - other.edge);
    const rank = quantile * (sorted.at(-1)?.value ?? 0);
    const found = rank > 0 ? sorted.find(({ value }) => value >= rank) : undefined;
    return found === undefined ? [] : [{ labels, value: found.edge }];
  });
}

function aggregate(node: Node, rounds: readonly Round[], text: string): Point[] {
  const by = node.getChild("AggregateModifier")?.getChild("GroupingLabels")?.getChildren("LabelName") ?? [];
  const names = by.map((label) => textOf(label, text));
  const operation = textOf(node.getChild("AggregateOp") ?? node, text);
  const points = vectorOf(node.getChild("FunctionCallBody")?.firstChild ?? undefined, rounds, text);
  const groups = new Map<string, { labels: Labels; values: number[] }>();
  for (const point of points) {
    const labels = Object.fromEntries(Object.entries(point.labels).filter(([name]) => names.includes(name)));
    const group = groups.get(keyOf(labels)) ?? { labels, values: [] };
    groups.set(keyOf(labels), group);
    group.values.push(point.value);
  }
  return [...groups.values()].map(({ labels, values }) => {
    if (operation === "max") return { labels, value: Math.max(...values) };
    if (operation === "min") return { labels, value: Math.min(...values) };
    if (operation === "sum") return { labels, value: values.reduce((sum, value) => sum + value, 0) };
    throw new Error(`${operation} in ${text}`);
  });
}

const CALCULATE: Readonly<Record<string, (one: number, other: number) => number>> = {
  "-": (one, other) => one - other,
  "/": (one, other) => one / other,
};
const COMPARE: Readonly<Record<string, (one: number, other: number) => boolean>> = {
  ">": (one, other) => one > other,
  "<=": (one, other) => one <= other,
  "==": (one, other) => one === other,
};

/** Pairs the points of two vectors that have exactly the same labels. */
function combine(node: Node, rounds: readonly Round[], text: string): number | readonly Point[] {
  const [left, sign, right, ...more] = childrenOf(node);
  if (left === undefined || sign === undefined || right === undefined || more.length > 0) {
    throw new Error(`"${textOf(node, text)}" in ${text}`);
  }
  const operator = textOf(sign, text);
  if (operator === "and" || operator === "unless") {
    const there = new Set(vectorOf(right, rounds, text).map(({ labels }) => keyOf(labels)));
    return vectorOf(left, rounds, text).filter(({ labels }) => there.has(keyOf(labels)) === (operator === "and"));
  }
  const [one, other] = [compute(left, rounds, text), compute(right, rounds, text)];
  const [calculate, compare] = [CALCULATE[operator], COMPARE[operator]];
  const pair = (labels: Labels, mine: number, theirs: number): Point[] => {
    if (calculate !== undefined) return [{ labels, value: calculate(mine, theirs) }];
    if (compare === undefined) throw new Error(`${operator} in ${text}`);
    return compare(mine, theirs) ? [{ labels, value: mine }] : [];
  };
  if (typeof one === "number") {
    if (typeof other === "number") throw new Error(`two numbers in ${text}`);
    return other.flatMap(({ labels, value }) => pair(labels, one, value));
  }
  if (typeof other === "number") return one.flatMap(({ labels, value }) => pair(labels, value, other));
  const theirs = new Map(other.map(({ labels, value }) => [keyOf(labels), value]));
  return one.flatMap(({ labels, value }) => {
    const match = theirs.get(keyOf(labels));
    return match === undefined ? [] : pair(labels, value, match);
  });
}
