type ChoiceProps<Value extends string> = {
  readonly label: string;
  readonly name: string;
  /** Values with what stands for them. */
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
};

/** One of a few values. */
export function Choice<Value extends string>({ label, name, options, value, onChoose }: ChoiceProps<Value>) {
  const choose = ({ currentTarget }: Event) => {
    const chosen = options.find(([one]) => currentTarget instanceof HTMLSelectElement && one === currentTarget.value);
    if (chosen !== undefined) onChoose(chosen[0]);
  };
  return (
    <label class="choice">
      {label}
      <select name={name} value={value} onChange={choose}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
