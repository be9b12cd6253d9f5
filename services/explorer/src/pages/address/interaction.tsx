import type { Interaction as Sent } from "../../api/operations.ts";
import { interactionOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { formatCount, plural } from "../../text/format.ts";
import { Code, Facts, type Item, items } from "./facts.tsx";

/** What an address sent to sensors that let it log in, where they reported any; one lookup. */
export function Interaction({ ip }: { readonly ip: string }) {
  const sent = useAnswer(interactionOf(ip));
  return (
    <Loaded of={sent} what="what it tried to log in with and typed">
      {(data) => <Facts title="Logins and commands" facts={factsOf(data)} />}
    </Loaded>
  );
}

type Counted = Item & { readonly observations: number };

function factsOf(sent: Sent) {
  const { credentials, commands, urls, payloads } = sent;
  return [
    ["Login attempts", sent.login_attempts === 0 ? "" : formatCount(sent.login_attempts)],
    [
      "Tried to log in with",
      listed(
        credentials.map(({ username, password, observations }) => ({
          key: JSON.stringify([username, password]),
          shown: (
            <>
              <Tried text={username} whenEmpty="no name" /> and <Tried text={password} whenEmpty="no password" />
            </>
          ),
          observations,
        })),
        sent.total_credentials,
      ),
    ],
    [
      "Commands",
      listed(
        commands.map(({ command, observations }) => toCounted(command, observations)),
        sent.total_commands,
      ),
    ],
    [
      "Downloads",
      listed(
        urls.map(({ url, observations }) => toCounted(url, observations)),
        sent.total_urls,
      ),
    ],
    [
      "Files left (SHA-256)",
      listed(
        payloads.map(({ sha256, observations }) => toCounted(sha256, observations)),
        sent.total_payloads,
      ),
    ],
  ] as const;
}

const toCounted = (text: string, observations: number): Counted => ({
  key: text,
  shown: <Code text={text} />,
  observations,
});

type TriedProps = { readonly text: string; readonly whenEmpty: string };

export function Tried({ text, whenEmpty }: TriedProps) {
  return text === "" ? <span class="faint">{whenEmpty}</span> : <Code text={text} />;
}

/** The entries, the most frequent first. That many of them were seen once is said once, not with each. */
function listed(list: readonly Counted[], total: number) {
  if (total === 0) return undefined;
  const once = list.filter(({ observations }) => observations === 1).length;
  return (
    <>
      {list.length === total ? null : (
        <p class="faint">
          The {formatCount(list.length)} most frequent of {formatCount(total)}
        </p>
      )}
      {items(list.map((one) => ({ ...one, shown: one.observations === 1 ? one.shown : <Frequent {...one} /> })))}
      {once === 0 ? null : (
        <p class="faint hint">
          {list.length === 1 ? "In" : once === list.length ? "Each in" : "All others in"} 1 observation.
        </p>
      )}
    </>
  );
}

function Frequent({ shown, observations }: Counted) {
  return (
    <>
      {shown} <span class="faint">({plural(observations, "observation")})</span>
    </>
  );
}
