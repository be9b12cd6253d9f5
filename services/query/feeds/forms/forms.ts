import { csv } from "./csv.ts";
import type { Form } from "./form.ts";
import { json } from "./json.ts";
import { ndjson } from "./ndjson.ts";
import { txt } from "./txt.ts";

/** Every form that a feed has, in the order in which they are listed to users. */
export const FORMS: readonly Form[] = [txt, csv, ndjson, json];
