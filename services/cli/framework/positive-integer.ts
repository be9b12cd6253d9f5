import { InvalidArgumentError } from "commander";

/** An option's value that is a whole number from 1. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It takes a whole number from 1.");
  return Number(text);
}
