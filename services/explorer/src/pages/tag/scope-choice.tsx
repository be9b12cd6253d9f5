import { SCOPES } from "./choices.ts";

type ScopeChoiceProps = { readonly chosen: readonly string[]; readonly onChoose: (scopes: string[]) => void };

/** The datasets; none chosen is the default, the global one. */
export function ScopeChoice({ chosen, onChoose }: ScopeChoiceProps) {
  const toggle = (scope: string) =>
    onChoose(SCOPES.filter((one) => (one === scope ? !chosen.includes(one) : chosen.includes(one))));
  return (
    <fieldset class="scopes">
      <legend>Datasets</legend>
      {SCOPES.map((scope) => (
        <label key={scope}>
          <input type="checkbox" name={scope} checked={chosen.includes(scope)} onChange={() => toggle(scope)} />
          {scope}
        </label>
      ))}
    </fieldset>
  );
}
