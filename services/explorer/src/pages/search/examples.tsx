import { LISTED_FIELDS } from "@noisefloor/domain/query-language/fields.ts";
import { searchPath } from "../../routing/paths.ts";

export const EXAMPLES = [
  ["classification:malicious last_seen:1d", "malicious addresses seen in the last 24 hours, to the second"],
  ["tags:ssh-bruteforcer NOT country_code:CN", "who guesses SSH passwords from outside China"],
  ["port:445 protocol:tcp asn:4134", "one network's addresses that knocked at 445/tcp"],
  ["credential:root/admin command:*wget*", "who logged in as root with admin and downloaded something"],
  ["path:/wp-* useragent:*python*", "scripts that look for WordPress"],
  ["cve:* first_seen:>=7d", "newcomers that try to exploit something"],
] as const;

/** What a query looks like, for those who see the language for the first time. */
export function Examples() {
  return (
    <section aria-labelledby="examples">
      <h2 id="examples">For example</h2>
      <dl class="list">
        {EXAMPLES.map(([query, meaning]) => (
          <div key={query}>
            <dt>
              <a href={searchPath(query)}>
                <code>{query}</code>
              </a>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">
        Conditions beside each other must all hold; OR, NOT and parentheses combine them. Fields are{" "}
        {LISTED_FIELDS.map(({ name }) => name).join(", ")}.
      </p>
    </section>
  );
}
