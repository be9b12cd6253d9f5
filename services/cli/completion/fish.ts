import { type CompletedCommand, type CompletedOption, subcommandPaths } from "./describe.ts";

/** A text as one word in single quotes, as fish reads it. */
const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** Completion for fish, with descriptions. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  return `# fish completion for noisefloor: noisefloor completion fish | source
function __noisefloor_command
    set -l command noisefloor
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case ${subcommandPaths(commands).map(quote).join(" ")}
                set command "$command $word"
        end
    end
    echo $command
end
function __noisefloor_is
    test (__noisefloor_command) = "$argv"
end
complete -c noisefloor -e
complete -c noisefloor -f
${commands.flatMap(completionsOf).join("\n")}
`;
}

function completionsOf({ path, commands, options, takesFiles, words }: CompletedCommand): string[] {
  const here = `complete -c noisefloor -n ${quote(`__noisefloor_is ${path}`)}`;
  return [
    ...commands.map(({ name, description }) => `${here} -a ${quote(name)} -d ${quote(description)}`),
    ...words.map((word) => `${here} -a ${quote(word)}`),
    ...options.map((option) => `${here} ${optionArguments(option)}`),
    ...(takesFiles ? [`${here} -F`] : []),
  ];
}

function optionArguments({ name, description, value }: CompletedOption): string {
  const option = `-l ${quote(name.replace(/^--/, ""))} -d ${quote(description)}`;
  if (value.kind === "words") return `${option} -x -a ${quote(value.words.join(" "))}`;
  return { none: option, file: `${option} -r -F`, any: `${option} -x` }[value.kind];
}
