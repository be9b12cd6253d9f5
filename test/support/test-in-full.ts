import { test } from "vitest";
import { IS_FULL } from "./volume.ts";

/** Declares a test of `npm run test:full` alone: on every commit another one keeps its promise, in less time. */
export const testInFull: typeof test = IS_FULL ? test : Object.assign(() => {}, test);
