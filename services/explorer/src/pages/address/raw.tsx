import { showInvisible } from "@noisefloor/domain/text/show-invisible.ts";
import type { AddressContext } from "../../api/operations.ts";
import { BASE } from "../../routing/paths.ts";
import { CopyButton } from "../../shell/controls/copy-button.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";

/** The answer as it came, and the command that gets it again. */
export function Raw({ context }: { readonly context: AddressContext }) {
  const command = `curl -H "key: $KEY" ${location.origin}${BASE}/v3/ip/${context.ip}`;
  const json = JSON.stringify(context, null, 2);
  return (
    <section aria-labelledby="raw">
      <h2 id="raw">For programs</h2>
      <p class="actions">
        <CopyButton text={command}>Copy as curl</CopyButton>
        <CopyButton text={json}>Copy as JSON</CopyButton>
      </p>
      <details>
        <summary>Raw JSON</summary>
        <ScrollRegion label="Raw JSON" isTall>
          <pre>{json.split("\n").map(showInvisible).join("\n")}</pre>
        </ScrollRegion>
      </details>
    </section>
  );
}
