import { decodeBase64 } from "./decode.ts";

const MAX_DEPTH = 32;
const MAX_FOUND = 64;

/**
 * The addresses of `${jndi:...}`, with the lookups inside that Log4j would resolve: `${${lower:J}ndi:${::-l}dap://..}`
 * is `ldap://..`. A lookup that only the attacked machine could answer, like `${env:USER}`, is empty.
 */
export function findJndi(text: string): string[] {
  const found: string[] = [];
  /** The texts of the lookups that are open, outermost first. */
  const open: string[] = [];
  const append = (added: string) => {
    const last = open.pop();
    if (last !== undefined) open.push(last + added);
  };
  let from = text.indexOf("${");
  while (from !== -1 && from < text.length && found.length < MAX_FOUND) {
    if (text.startsWith("${", from) && open.length < MAX_DEPTH) {
      open.push("");
      from += 2;
    } else if (text[from] === "}" && open.length > 0) {
      append(resolve(open.pop() ?? "", found));
      from++;
    } else {
      const end = nextMark(text, from + 1);
      append(text.slice(from, end));
      from = end;
    }
    if (open.length === 0) from = text.indexOf("${", from);
  }
  // A sensor may have cut the text.
  while (open.length > 0) {
    const content = open.pop() ?? "";
    append(JNDI.test(content) ? resolve(content, found) : content);
  }
  return found;
}

function nextMark(text: string, from: number): number {
  let index = from;
  while (index < text.length && text[index] !== "$" && text[index] !== "}") index++;
  return index;
}

const JNDI = /^\s*jndi:/i;

/** What a lookup is replaced by. The address of a JNDI lookup is added to those found. */
function resolve(content: string, found: string[]): string {
  if (JNDI.test(content)) {
    // An empty lookup leaves an empty label. `ldap://127.0.0.1#evil.example/` passes for local, and calls the host behind the mark.
    found.push(
      content
        .replace(JNDI, "")
        .trim()
        .replace(/^(\w+:\/\/)[^/#?]*#/, "$1"),
    );
    return "";
  }
  const fallback = content.indexOf(":-");
  const [, name = "", value = ""] = /^(\w*):(.*)$/s.exec(content) ?? [];
  switch (name.toLowerCase()) {
    case "lower":
      return value.toLowerCase();
    case "upper":
      return value.toUpperCase();
    case "date":
      return value.replaceAll("'", "");
    case "base64":
      return decodeBase64(value) ?? "";
    default:
      return fallback === -1 ? "" : content.slice(fallback + 2);
  }
}
