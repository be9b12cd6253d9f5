import type { ComponentChildren } from "preact";
import { plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const SHOWN = 40;

export type Fact = readonly [name: string, value: ComponentChildren];

/** Names with values, without those that have none; nothing if none has one. */
export function Facts({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value !== "" && value !== undefined && value !== null);
  if (known.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <dl class="list">
        {known.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Texts of sensors; undefined if there are none. The rest of many are behind a click. */
export function values(texts: readonly string[]): ComponentChildren {
  if (texts.length === 0) return undefined;
  const rest = texts.slice(SHOWN);
  return (
    <>
      <Texts texts={texts.slice(0, SHOWN)} />
      {rest.length === 0 ? null : (
        <details>
          <summary>{plural(rest.length, "more", "more")}</summary>
          <Texts texts={rest} />
        </details>
      )}
    </>
  );
}

function Texts({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul class="values">
      {texts.map((text) => (
        <li key={text}>
          <code>
            <Hostile text={text} />
          </code>
        </li>
      ))}
    </ul>
  );
}
