import type { Watch } from "../../api/operations.ts";
import { CopyButton } from "../../shell/controls/copy-button.tsx";
import { Hostile } from "../../text/hostile.tsx";

export const secretsIn = ({ deliver }: Watch) => deliver.filter(({ secret = "" }) => secret !== "");

/** The secrets of new webhooks, which their answer alone has. */
export function Secrets({ of }: { readonly of: Watch }) {
  const made = secretsIn(of);
  if (made.length === 0) return null;
  return (
    <div class="notice" role="status">
      <p>Receivers verify signatures by the secret of their webhook. It is shown now and never again.</p>
      {made.map(({ id, url = "", secret = "" }) => (
        <div key={id}>
          <p>
            <Hostile text={url} />: <code data-secret>{secret}</code>
          </p>
          <p class="actions">
            <CopyButton text={secret}>Copy the secret</CopyButton>
          </p>
        </div>
      ))}
    </div>
  );
}
