import { createToken, revokeToken, tokensOfFeed } from "../../api/feeds.ts";
import type { FeedTokens } from "../../api/operations.ts";
import { useAction } from "../../api/use-action.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { ActionFault } from "../../shell/action-fault.tsx";
import { CopyButton } from "../../shell/controls/copy-button.tsx";
import { formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

type TokensProps = {
  readonly name: string;
  /** The one that was made on this page; empty for none. */
  readonly token: string;
  onCreated(token: string): void;
};

/** Who reads a feed. A token is shown once, as only its hash is stored. */
export function Tokens({ name, token, onCreated }: TokensProps) {
  const tokens = useAnswer(tokensOfFeed(name));
  const action = useAction();
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    const made = await action.run(createToken(name, String(new FormData(form).get("label") ?? "").trim()));
    if (made === undefined) return;
    form.reset();
    onCreated(made.token);
    tokens.retry();
  };
  const revoke = async (id: string) => {
    if ((await action.run(revokeToken(name, id))) !== undefined) tokens.retry();
  };
  return (
    <section aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      <p class="faint">Each reads this feed and nothing else. Make one for each consumer, to revoke it alone.</p>
      <Loaded of={tokens} what="the tokens">
        {(data) => <TokenList tokens={data.tokens} revoke={(id) => void revoke(id)} />}
      </Loaded>
      <form class="filters" aria-label="Make a token" onSubmit={create}>
        <label class="choice">
          For
          <input name="label" maxLength={200} placeholder="edge firewall" autocomplete="off" />
        </label>
        <button type="submit" disabled={action.isRunning}>
          Make a token
        </button>
      </form>
      <ActionFault message={action.message} />
      {token === "" ? null : (
        <div class="notice">
          <p>This token is shown now and never again. The lines below have it, too.</p>
          <p>
            <code data-token>{token}</code>
          </p>
          <p class="actions">
            <CopyButton text={token}>Copy the token</CopyButton>
          </p>
        </div>
      )}
    </section>
  );
}

function TokenList({ tokens, revoke }: FeedTokens & { revoke(id: string): void }) {
  if (tokens.length === 0) return <p class="empty">No consumer has a token yet.</p>;
  return (
    <ul class="tags">
      {tokens.map(({ id, label, created_at: created, last_used_at: used }) => (
        <li key={id} data-token-id={id}>
          {label === "" ? "without a label" : <Hostile text={label} />}{" "}
          <span class="faint">
            made at {formatMinute(created)}, {used === "" ? "not used" : `used last at ${formatMinute(used)}`}
          </span>{" "}
          <button type="button" class="link" aria-label={`Revoke the token ${label || id}`} onClick={() => revoke(id)}>
            Revoke
          </button>
        </li>
      ))}
    </ul>
  );
}
