import { gatherFacts } from "../../diagnosis/probes/gather.ts";
import { statusLines, statusToJson } from "../../diagnosis/show-status.ts";
import type { CommandContext } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";

export const define: DefineCommand = (status, createContext) => {
  status
    .addHelpText("after", '\nIt only reports. "noisefloor doctor" checks the same, with a remedy for each fault.')
    .action(async (options: OutputOptions) => runStatus(options, await createContext()));
};

/** `noisefloor status`. */
export async function runStatus(options: OutputOptions, { settings, print }: CommandContext): Promise<void> {
  const facts = await gatherFacts(settings);
  if (options.json) {
    print(JSON.stringify(statusToJson(facts)));
    return;
  }
  const lines = statusLines(facts);
  const width = Math.max(...lines.map(([name]) => name.length));
  for (const [name, text] of lines) print(`${printable(name).padEnd(width)}  ${printable(text)}`.trimEnd());
}
