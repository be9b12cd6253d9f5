import { SCOPES } from "./choices.ts";

const DEFAULT = "global";

type ScopeChoiceProps = { readonly chosen: readonly string[]; readonly onChoose: (scopes: string[]) => void };

/** The datasets. The global one alone is the default, which takes no entitlement as long as it is not named. */
export function ScopeChoice({ chosen, onChoose }: ScopeChoiceProps) {
  const shown: readonly string[] = chosen.length === 0 ? [DEFAULT] : chosen;
  const toggle = (scope: string) => {
    const scopes = SCOPES.filter((one) => (one === scope) !== shown.includes(one));
    onChoose(scopes.join() === DEFAULT ? [] : scopes);
  };
  return (
    <fieldset class="scopes">
      <legend>Datasets</legend>
      {SCOPES.map((scope) => (
        <label key={scope}>
          <input type="checkbox" name={scope} checked={shown.includes(scope)} onChange={() => toggle(scope)} />
          {scope}
        </label>
      ))}
    </fieldset>
  );
}
