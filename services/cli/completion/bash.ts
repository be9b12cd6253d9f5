import { type CompletedCommand, optionsWith, quote, subcommandPaths } from "./describe.ts";

/** Quoted patterns of one branch of `case`; one that matches nothing where there are none. */
const patterns = (words: readonly string[]) => (words.length === 0 ? "''" : words.map(quote).join(" | "));

/** Completion for bash. Where it completes nothing, readline completes names of files, if the command takes any. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const branches = commands.map(
    ({ path, commands: children, options, takesFiles, words }) => `    ${quote(path)})
      commands=${quote([...children.map(({ name }) => name), ...words].join(" "))}
      options=${quote(options.map(({ name }) => name).join(" "))}
      files=${takesFiles ? "yes" : "no"} ;;`,
  );
  const choices = commands.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) =>
      value.kind === "words"
        ? [`    ${quote(`${path} ${name}`)}) files=no commands=${quote(value.words.join(" "))} ;;`]
        : [],
    ),
  );
  return `# bash completion for noisefloor: source <(noisefloor completion bash)
_noisefloor() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local command=noisefloor commands='' options='' files=no i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
      ${patterns(subcommandPaths(commands))}) command="$command \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command" in
${branches.join("\n")}
  esac
  case "$command $previous" in
    ${patterns(optionsWith(commands, "file"))}) files=yes commands='' ;;
    ${patterns(optionsWith(commands, "any"))}) files=no commands='' ;;
${choices.join("\n")}
  esac
  COMPREPLY=()
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
  esac
  # Older shells than bash 4 cannot switch it off, and complete names of files.
  if [ "$files" = no ]; then compopt +o default +o bashdefault 2>/dev/null; fi
}
complete -o default -F _noisefloor noisefloor
`;
}
