import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import {
  type FieldName,
  fieldNames,
  fieldOf,
  type NumberFieldName,
  numberField,
  SOURCE_IP,
  type Taggable,
  type TextFieldName,
  textField,
} from "./fields.ts";
import { TEXT_FORMS, type TextForm, toForm } from "./text-form.ts";

/** An observation as rules see it. */
export type TaggedEvent = {
  /** The members that the observation has; fields that are read from any other have no value. */
  members(): readonly string[];
  /** The values of a text field that the observation has, in this form. */
  texts(field: TextFieldName, form: TextForm): readonly string[];
  number(field: NumberFieldName): number | undefined;
  /** The source's address as a number of 32 bits. */
  address(): number | undefined;
  exists(field: FieldName): boolean;
  /** As the observation has it. */
  value(field: FieldName): string | number | readonly string[] | undefined;
};

const FIELD_SLOT = new Map(fieldNames().map((field, index) => [field, index * TEXT_FORMS.length] as const));
const FORM_SLOT: Readonly<Record<TextForm, number>> = { normal: 0, cased: 1, raw: 2, "raw-cased": 3 };

/** Each text is decoded and folded once, and only if a rule asks for it. */
export function toEvent(observation: Taggable): TaggedEvent {
  let forms: Map<number, readonly string[]> | undefined;
  const texts = (field: TextFieldName, form: TextForm): readonly string[] => {
    const { read, isDecoded } = textField(field);
    // Most events lack most fields: finding that out must cost nothing else.
    const values = read(observation);
    if (values.length === 0) return values;
    const slot = (FIELD_SLOT.get(field) ?? 0) + FORM_SLOT[form];
    forms ??= new Map();
    const cached = forms.get(slot);
    if (cached !== undefined) return cached;
    const formed = values.map((value) => toForm(value, form, isDecoded));
    forms.set(slot, formed);
    return formed;
  };
  const address = () => {
    const text = SOURCE_IP.read(observation);
    return text === undefined ? undefined : ipv4ToNumber(text);
  };
  return {
    members: () => Object.keys(observation),
    texts,
    number: (field) => numberField(field).read(observation),
    address,
    value: (field) => fieldOf(field).read(observation),
    exists(field) {
      const value = fieldOf(field).read(observation);
      return typeof value === "object" ? value.length > 0 : value !== undefined;
    },
  };
}
