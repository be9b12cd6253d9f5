import { TAG_FEED_PREFIX } from "@noisefloor/domain/feeds/ready-made-names.ts";
import { useRoute } from "preact-iso";
import type { Tag } from "../../api/operations.ts";
import { tagBySlug } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { comparePath, feedPath, newWatchPath, pagePath, tagPath } from "../../routing/paths.ts";
import { Cves } from "../../search/cves.tsx";
import { conditionOn, SearchLink } from "../../search/value-search.tsx";
import { Badge } from "../../shell/badge.tsx";
import { Hostile, Prose, Reference } from "../../text/hostile.tsx";
import { Activity } from "./activity.tsx";
import { Rule } from "./rule.tsx";

/** `/tags/{slug}`: what a tag means, and how active it is. */
export function TagPage() {
  const { slug = "" } = useRoute().params;
  return <TagOfSlug key={slug} slug={slug} />;
}

function TagOfSlug({ slug }: { readonly slug: string }) {
  const tags = useAnswer(tagBySlug(slug));
  const tag = tags.data?.tags[0];
  usePageTitle(tag?.name ?? slug);
  return (
    <Loaded of={tags} what="the tag">
      {() => (tag === undefined ? <NoTag slug={slug} /> : <Details tag={tag} />)}
    </Loaded>
  );
}

function NoTag({ slug }: { readonly slug: string }) {
  return (
    <>
      <h1>There is no such tag</h1>
      <p class="notice">
        The catalogue has no tag <Hostile text={slug} />. <a href={pagePath("/tags")}>All tags</a>
      </p>
    </>
  );
}

function Details({ tag }: { readonly tag: Tag }) {
  return (
    <>
      <h1>
        <Hostile text={tag.name} />
      </h1>
      <p class="verdict">
        <Badge verdict={tag.intention} isLarge /> <Hostile text={tag.category} />
        {tag.recommend_block ? ", blocking its addresses is recommended" : ""} ·{" "}
        <SearchLink field="tag" value={tag.slug} /> ·{" "}
        <a href={comparePath(conditionOn("tag", tag.slug))}>Compare over time</a> ·{" "}
        <a href={feedPath(`${TAG_FEED_PREFIX}${tag.slug}`)}>Its feed</a> ·{" "}
        <a href={newWatchPath("tag_rises", tag.slug)}>Watch this tag</a>
      </p>
      <Activity tag={tag} />
      <Meaning tag={tag} />
      <Rule tag={tag} />
      <Related tag={tag} />
    </>
  );
}

function Meaning({ tag }: { readonly tag: Tag }) {
  return (
    <section aria-labelledby="meaning">
      <h2 id="meaning">What it is</h2>
      {tag.description === "" ? <p class="empty">The catalogue does not describe it.</p> : null}
      <p>
        <Prose text={tag.description} />
      </p>
      <dl class="list">
        {tag.cves.length === 0 ? null : (
          <div>
            <dt>CVE</dt>
            <dd>
              <Cves cves={tag.cves} />
            </dd>
          </div>
        )}
        {tag.references.length === 0 ? null : (
          <div>
            <dt>References</dt>
            <dd>
              <ul>
                {tag.references.map((reference) => (
                  <li key={reference}>
                    <Reference text={reference} />
                  </li>
                ))}
              </ul>
            </dd>
          </div>
        )}
        <div>
          <dt>Slug</dt>
          <dd>
            <code>{tag.slug}</code>
          </dd>
        </div>
        <div>
          <dt>Id</dt>
          <dd>
            <code>{tag.id}</code>
          </dd>
        </div>
        <div>
          <dt>In the catalogue since</dt>
          <dd>{tag.created_at}</dd>
        </div>
      </dl>
    </section>
  );
}

function Related({ tag }: { readonly tag: Tag }) {
  if (tag.related_tags.length === 0) return null;
  return (
    <section aria-labelledby="related">
      <h2 id="related">Related tags</h2>
      <ul class="tags">
        {tag.related_tags.map(({ id, slug, name, intention }) => (
          <li key={id}>
            <Badge verdict={intention} />{" "}
            <a href={tagPath(slug)}>
              <Hostile text={name} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
