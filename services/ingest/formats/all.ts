import type { LogFormat } from "./format.ts";
import { marxFormat } from "./marx.ts";
import { observationsFormat } from "./observations.ts";

/** Every log format that can be replayed. */
export const LOG_FORMATS: readonly LogFormat[] = [observationsFormat, marxFormat];
