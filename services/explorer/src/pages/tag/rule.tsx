import type { Tag } from "../../api/operations.ts";
import { ruleOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { plural } from "../../text/format.ts";
import { HostileLines } from "../../text/hostile.tsx";

/** A longer rule opens on a click. */
const MAX_LINES = 40;

/** What the rule of a tag matches, as its file has it. */
export function Rule({ tag }: { readonly tag: Tag }) {
  const rule = useAnswer(ruleOf(tag.slug));
  return (
    <section aria-labelledby="rule">
      <h2 id="rule">What its rule matches</h2>
      <Loaded of={rule} what="the rule">
        {(data) => <RuleText text={data.rule} />}
      </Loaded>
    </section>
  );
}

function RuleText({ text }: { readonly text: string }) {
  if (text === "") return <p class="empty">It has no rule: sensors name it themselves.</p>;
  const lines = text.replace(/\n$/, "").split("\n");
  const shown = (
    <pre>
      <HostileLines lines={lines} />
    </pre>
  );
  if (lines.length <= MAX_LINES) return shown;
  return (
    <details>
      <summary>{plural(lines.length, "line")}</summary>
      {shown}
    </details>
  );
}
