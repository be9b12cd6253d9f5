import fc from "fast-check";
import { z } from "zod";

/** The part of JSON Schema that the interface's description uses for requests. */
export type Schema = {
  readonly $ref?: string | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly const?: unknown;
  readonly type?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly pattern?: string | undefined;
  readonly format?: string | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly items?: Schema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly properties?: Readonly<Record<string, Schema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly minProperties?: number | undefined;
};

export const schemaSchema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    anyOf: z.array(schemaSchema).optional(),
    oneOf: z.array(schemaSchema).optional(),
    const: z.unknown().optional(),
    type: z.string().optional(),
    enum: z.array(z.string()).optional(),
    pattern: z.string().optional(),
    format: z.string().optional(),
    minLength: z.int().optional(),
    maxLength: z.int().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    items: schemaSchema.optional(),
    minItems: z.int().optional(),
    maxItems: z.int().optional(),
    properties: z.record(z.string(), schemaSchema).optional(),
    required: z.array(z.string()).optional(),
    minProperties: z.int().optional(),
  }),
);

/** Longer lists would only take more time. */
const LONGEST_LIST = 6;

/** Generators for the schemas of a description. */
export type Described = {
  /** Values that a schema allows. */
  of(schema: Schema): fc.Arbitrary<unknown>;
  /** The schema itself, or the one that it refers to. */
  resolve(schema: Schema): Schema;
};

/**
 * @param components the schemas that references lead to, by name.
 * @param likely values for members whose schema allows too much, such as recent times; by name.
 */
export function describedValues(
  components: Readonly<Record<string, Schema>>,
  likely: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): Described {
  const resolve = (schema: Schema): Schema => {
    if (schema.$ref === undefined) return schema;
    const found = components[schema.$ref.replace("#/components/schemas/", "")];
    if (found === undefined) throw new Error(`${schema.$ref} is not in the description`);
    return found;
  };

  const of = (given: Schema): fc.Arbitrary<unknown> => {
    const schema = resolve(given);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map(of));
    if (schema.const !== undefined) return fc.constant(schema.const);
    switch (schema.type) {
      case "string":
        return textOf(schema);
      case "integer":
        return integerOf(schema);
      case "number":
        return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true });
      case "boolean":
        return fc.boolean();
      case "array": {
        const { items = {}, minItems = 0, maxItems = LONGEST_LIST } = schema;
        return fc.array(of(items), {
          minLength: minItems,
          maxLength: Math.max(minItems, Math.min(maxItems, LONGEST_LIST)),
        });
      }
      case "object": {
        const members = Object.entries(schema.properties ?? {});
        if (members.length === 0)
          return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
        const { required = [], minProperties = 0 } = schema;
        return fc
          .record(Object.fromEntries(members.map(([name, member]) => [name, likely[name] ?? of(member)])), {
            requiredKeys: [...required],
          })
          .filter((value) => Object.keys(value).length >= minProperties);
      }
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  };
  return { of, resolve };
}

function integerOf({ minimum = -(2 ** 31), maximum = 2 ** 31 - 1 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum));
}

function textOf(schema: Schema): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 40, pattern } = schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.format === "ipv4") return fc.ipV4();
  if (schema.format === "uuid") return fc.uuid();
  const text = fc.oneof(
    fc.string({ unit: "grapheme", minLength, maxLength: 40 }).map((value) => [...value].slice(0, maxLength).join("")),
    // A text of the maximum length.
    fc.constantFrom("a", "é").map((character) => character.repeat(maxLength)),
  );
  if (pattern === undefined) return text;
  // The library cannot generate texts for a pattern with Unicode classes, but nearly every text matches those.
  if (pattern.includes("\\p{")) return text.filter((value) => new RegExp(pattern, "u").test(value));
  return fc
    .stringMatching(new RegExp(pattern))
    .filter((value) => value.length <= maxLength || schema.maxLength === undefined);
}

/** Whether the description accepts a query parameter's text, whatever its type. */
export function takesText(schema: Schema, text: string): boolean {
  if (schema.type === "boolean") return ["true", "false", "1", "0"].includes(text);
  if (schema.type === "integer") {
    const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
    return /^-?\d+$/.test(text) && Number(text) >= minimum && Number(text) <= maximum;
  }
  if (schema.enum !== undefined) return schema.enum.includes(text);
  return schema.pattern === undefined || new RegExp(schema.pattern, "u").test(text);
}
