import { _, Ajv2020 } from "ajv/dist/2020.js";
import * as z from "zod";
import { observationSchema, type WireObservation } from "./schema.ts";

/** An observation that needs no change: tags may be left out, all other members are as they are stored. */
type PlainObservation = Omit<WireObservation, "tags"> & Partial<Pick<WireObservation, "tags">>;

/**
 * Whether the value is valid in the wire schema without any of the schema's transformations, as nearly all observations
 * are. If it returns false the value may still be valid: zod then decides, and reports what is wrong. The schema has
 * one definition: its JSON Schema is compiled to code.
 * @param value as JSON.parse makes it, of plain objects.
 */
export function isPlainObservation(value: unknown): value is PlainObservation {
  return compileSchema()(value);
}

let compiled: ((value: unknown) => value is PlainObservation) | undefined;

/** Takes tens of milliseconds the first time, which a service that takes in observations should spend at its start. */
export function compileSchema() {
  compiled ??= toCode<PlainObservation>(observationSchema);
  return compiled;
}

/** The types of what refinements check. JSON Schema has no words for these, so that each type gets a keyword. */
const REFINED_TYPES = ["string", "array"] as const;
const keywordOf = (type: unknown) => `${type}-refinements`;

/**
 * Makes the function that says whether a value is valid as it is. Tags may be left out.
 * @throws when the schema has a check that its JSON Schema would lack.
 */
export function toCode<Plain>(whole: z.ZodObject): (value: unknown) => value is Plain {
  const refinements: ((value: unknown) => unknown)[] = [];
  const schema = z.toJSONSchema(whole, {
    // What zod would transform is not valid as it is.
    io: "output",
    target: "draft-2020-12",
    override({ zodSchema, jsonSchema }) {
      // A transformed observation always has tags; before that they may be left out.
      if (zodSchema === whole) jsonSchema.required = withoutTags(jsonSchema.required);
      for (const check of zodSchema._zod.def.checks ?? []) {
        const { check: kind } = check._zod.def;
        if (check instanceof z.core.$ZodCustom) {
          const keyword = keywordOf(jsonSchema.type);
          const before = jsonSchema[keyword];
          jsonSchema[keyword] = [...(Array.isArray(before) ? before : []), refinements.push(check._zod.def.fn) - 1];
        } else if (kind === "custom" || kind === "overwrite")
          throw new Error(`a check of the kind ${kind} is left out`);
      }
    },
  });
  // The formats of zod are patterns, too, and those are checked. Lengths count code points, as those of zod do.
  // The schema itself is not checked, as zod has made it.
  const ajv = new Ajv2020({ validateFormats: false, validateSchema: false });
  for (const type of REFINED_TYPES) {
    ajv.addKeyword({
      keyword: keywordOf(type),
      type,
      // A keyword's function would get a new object with each call.
      code(context) {
        for (const index of context.schema) {
          const holds = context.gen.scopeValue("keyword", { ref: refinements[index] });
          context.fail(_`!${holds}(${context.data})`);
        }
      },
    });
  }
  return ajv.compile<Plain>(schema);
}

function withoutTags(required: readonly string[] = []): string[] {
  return required.filter((name) => name !== "tags");
}
