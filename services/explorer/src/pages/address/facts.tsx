import type { ComponentChildren } from "preact";
import { type SearchedField, valuePath } from "../../search/value-search.tsx";
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

/**
 * Texts of sensors; undefined for an empty list. A click shows the rest of a long one.
 * @param hrefOf where each leads; nowhere by default.
 */
export function values(texts: readonly string[], hrefOf?: (text: string) => string): ComponentChildren {
  return items(
    texts.map((text) => ({
      key: text,
      shown:
        hrefOf === undefined ? (
          <Code text={text} />
        ) : (
          <a href={hrefOf(text)}>
            <Code text={text} />
          </a>
        ),
    })),
  );
}

export type Item = { readonly key: string; readonly shown: ComponentChildren };

/** The same for items that have more than a text. */
export function items(list: readonly Item[]): ComponentChildren {
  if (list.length === 0) return undefined;
  const rest = list.slice(SHOWN);
  return (
    <>
      <Items list={list.slice(0, SHOWN)} />
      {rest.length === 0 ? null : (
        <details>
          <summary>{plural(rest.length, "more", "more")}</summary>
          <Items list={rest} />
        </details>
      )}
    </>
  );
}

function Items({ list }: { readonly list: readonly Item[] }) {
  return (
    <ul class="values">
      {list.map(({ key, shown }) => (
        <li key={key}>{shown}</li>
      ))}
    </ul>
  );
}

export function Code({ text }: { readonly text: string }) {
  return (
    <code>
      <Hostile text={text} />
    </code>
  );
}

/** A text with the search for all addresses that have it. */
export function LinkedCode({ field, text }: { readonly field: SearchedField; readonly text: string }) {
  return (
    <a href={valuePath(field, text)}>
      <Code text={text} />
    </a>
  );
}
