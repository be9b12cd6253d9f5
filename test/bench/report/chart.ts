import type { Line } from "../line.ts";
import type { Report } from "./report.ts";
import { format, headOf } from "./table.ts";

const WIDTH = 1_000;
const LABELS = 520;
const RATIOS = 130;
const BAR = WIDTH - LABELS - RATIOS;
const ROW = 22;
const HEAD = 70;

const COLOURS = { better: "#2b7a4b", worse: "#b5482f", plain: "#4a6fa5" } as const;

/** The ratios as bars on a logarithmic scale, from one tenth at the least; thin lines show the rounds' spread, ticks the targets. */
export function toSvg(report: Report): string {
  const rows = report.parts.flatMap(({ name, lines }) => [name, ...lines]);
  const ratios = rows.flatMap((row) => (typeof row === "string" ? [] : [row.ratio.min, row.ratio.max]));
  const scale = scaleOf(ratios);
  const height = HEAD + rows.length * ROW + 20;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`,
    ` font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="10" y="22" font-size="16" font-weight="bold">Ratios against peers and limits (above 1 is better)</text>`,
    `<text x="10" y="42" fill="#555555">${escapeXml(headOf(report))}</text>`,
    `<text x="${WIDTH - 10}" y="22" text-anchor="end"><tspan fill="${COLOURS.better}">target reached</tspan>, <tspan fill="${COLOURS.worse}">missed</tspan>, <tspan fill="${COLOURS.plain}">no target</tspan></text>`,
    ...gridOf(scale, height),
    ...rows.map((row, index) => (typeof row === "string" ? partOf(row, index) : barOf(row, index, scale))),
    "</svg>",
    "",
  ].join("\n");
}

type Scale = { readonly powers: readonly number[]; readonly x: (ratio: number) => number };

function scaleOf(ratios: readonly number[]): Scale {
  const known = ratios.filter((ratio) => ratio > 0 && Number.isFinite(ratio));
  const lowest = Math.floor(Math.log10(Math.min(0.1, ...known)));
  const highest = Math.ceil(Math.log10(Math.max(10, ...known)));
  const x = (ratio: number) => LABELS + ((Math.log10(ratio) - lowest) / (highest - lowest)) * BAR;
  return { x, powers: Array.from({ length: highest - lowest + 1 }, (_, index) => lowest + index) };
}

function gridOf({ powers, x }: Scale, height: number): string[] {
  return powers.map((power) => {
    const at = x(10 ** power).toFixed(1);
    const colour = power === 0 ? "#333333" : "#dddddd";
    return `<line x1="${at}" y1="${HEAD - 8}" x2="${at}" y2="${height - 15}" stroke="${colour}"/><text x="${at}" y="${HEAD - 12}" text-anchor="middle" fill="#555555">${10 ** power}</text>`;
  });
}

function partOf(name: string, index: number): string {
  return `<text x="10" y="${HEAD + index * ROW + 15}" font-weight="bold">${escapeXml(name)}</text>`;
}

function barOf(line: Line, index: number, { x }: Scale): string {
  const { min, median, max } = line.ratio;
  const y = HEAD + index * ROW;
  const middle = y + ROW / 2;
  const label = `<text x="${LABELS - 10}" y="${y + 15}" text-anchor="end">${escapeXml(`${line.name} / ${line.peer}`)}</text>`;
  if (!(min > 0) || !Number.isFinite(max)) return label;
  const [from, to] = [Math.min(x(1), x(median)), Math.max(x(1), x(median))];
  return [
    label,
    `<rect x="${from.toFixed(1)}" y="${y + 4}" width="${Math.max(1, to - from).toFixed(1)}" height="${ROW - 8}" fill="${colourOf(line)}"/>`,
    `<line x1="${x(min).toFixed(1)}" y1="${middle}" x2="${x(max).toFixed(1)}" y2="${middle}" stroke="#000000"/>`,
    ...(line.target === undefined ? [] : [tickOf(x(line.target), y)]),
    `<text x="${WIDTH - RATIOS + 10}" y="${y + 15}">${escapeXml(ratioOf(line))}</text>`,
  ].join("");
}

/** Where the ratio should be at the least. */
function tickOf(x: number, y: number): string {
  return `<line x1="${x.toFixed(1)}" y1="${y + 2}" x2="${x.toFixed(1)}" y2="${y + ROW - 2}" stroke="#000000" stroke-width="2"/>`;
}

function ratioOf({ ratio, exponent, fault }: Line): string {
  const more = [
    ...(exponent === undefined ? [] : [`exponent ${exponent.toFixed(2)}`]),
    ...(fault === undefined ? [] : ["fault"]),
  ];
  return [format(ratio.median), ...more].join(", ");
}

function colourOf({ ratio, target }: Line): string {
  if (target === undefined) return COLOURS.plain;
  return ratio.median >= target ? COLOURS.better : COLOURS.worse;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
