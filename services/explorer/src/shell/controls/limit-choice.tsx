import { plural } from "../../text/format.ts";
import { Choice } from "./choice.tsx";

type LimitChoiceProps<Limit extends string> = {
  readonly limits: readonly Limit[];
  readonly value: Limit;
  readonly onChoose: (limit: Limit) => void;
};

/** Max addresses on a page. */
export function LimitChoice<Limit extends string>({ limits, value, onChoose }: LimitChoiceProps<Limit>) {
  return (
    <Choice
      label="At most"
      name="limit"
      options={limits.map((limit) => [limit, plural(Number(limit), "address", "addresses")] as const)}
      value={value}
      onChoose={onChoose}
    />
  );
}
