import { type CompletedCommand, optionsWith, quote, subcommandPaths } from "./describe.ts";

type Described = { readonly name: string; readonly description: string };

/** As `_describe` reads it: a colon ends the name. */
const described = ({ name, description }: Described) =>
  quote(`${name.replaceAll(":", "\\:")}${description === "" ? "" : `:${description}`}`);
const list = (items: readonly Described[]) => items.map((item) => `\n        ${described(item)}`).join("");
const patterns = (words: readonly string[]) => (words.length === 0 ? "''" : words.map(quote).join(" | "));

/** Completion for zsh, with descriptions; sourced, or as a file `_noisefloor` in a folder of `fpath`. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const branches = commands.map(
    ({ path, commands: children, options, takesFiles, words }) => `    (${quote(path)})
      commands=(${list([...children, ...words.map((name) => ({ name, description: "" }))])})
      options=(${list(options)})
      files=${takesFiles ? 1 : 0} ;;`,
  );
  const choices = commands.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) =>
      value.kind === "words"
        ? [`    (${quote(`${path} ${name}`)}) compadd -- ${value.words.map(quote).join(" ")}; return ;;`]
        : [],
    ),
  );
  return `#compdef noisefloor
# zsh completion for noisefloor: source <(noisefloor completion zsh)
_noisefloor() {
  local command=noisefloor word files=0
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
      (${patterns(subcommandPaths(commands))}) command="$command $word" ;;
    esac
  done
  case "$command \${words[CURRENT-1]}" in
    (${patterns(optionsWith(commands, "file"))}) _files; return ;;
    (${patterns(optionsWith(commands, "any"))}) _message 'a value'; return ;;
${choices.join("\n")}
  esac
  case "$command" in
${branches.join("\n")}
  esac
  if [[ "\${words[CURRENT]}" == -* ]]; then
    _describe -o option options
    return
  fi
  (( \${#commands} )) && _describe command commands
  (( files )) && _files
}
if [[ "$funcstack[1]" == _noisefloor ]]; then _noisefloor "$@"; else compdef _noisefloor noisefloor; fi
`;
}
