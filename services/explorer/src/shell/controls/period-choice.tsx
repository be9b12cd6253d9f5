import { plural } from "../../text/format.ts";
import { Choice } from "./choice.tsx";

type PeriodChoiceProps<Days extends string> = {
  readonly days: readonly Days[];
  readonly value: Days;
  readonly onChoose: (days: Days) => void;
};

/** How many days back a page looks. */
export function PeriodChoice<Days extends string>({ days, value, onChoose }: PeriodChoiceProps<Days>) {
  const options = days.map((one) => [one, plural(Number(one), "day")] as const);
  return <Choice label="Period" name="days" options={options} value={value} onChoose={onChoose} />;
}
