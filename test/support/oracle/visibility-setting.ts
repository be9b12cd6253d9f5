import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { expect } from "vitest";
import { SHARED_ADDRESSES } from "../builders/marked-observations.ts";
import type { Random } from "../builders/random.ts";
import type { Known } from "./address-oracle.ts";
import type { Seen } from "./oracle.ts";
import { type Asker, isGlobal, type Visibility } from "./visibility-rules.ts";

type Answer = { readonly status: number; readonly body: unknown };

/** One request of one caller, and the expected answer by brute force. */
export type Question = {
  readonly asker: Asker;
  readonly url: string;
  /** Present for a POST. */
  readonly payload?: object;
  sees(one: Seen): boolean;
  answer(known: Known): Answer;
};

export type Setting = {
  readonly random: Random;
  readonly asker: Asker;
  readonly tags: readonly Tag[];
  readonly now: number;
};
type Asked = Omit<Question, "asker">;
export type Operation = { readonly name: string; readonly showsObservations: boolean; ask(setting: Setting): Asked };

export const error = (status: number): Answer => ({ status, body: { message: expect.any(String) } });
export const ok = (body: unknown): Answer => ({ status: 200, body });
export const GLOBAL: Visibility = { sees: isGlobal, namesNothing: false };

/** Combines a visibility with the checks that precede the scopes, given by the status that they lead to. */
export function withVisibility(
  { asker }: Setting,
  asked: { url: string; payload?: object; earlier?: number | undefined; later?: number | undefined },
  visibility: Visibility,
  answer: (known: Known) => Answer,
): Asked {
  const { url, payload, earlier, later } = asked;
  const status = !asker.isKnown ? 401 : (earlier ?? ("status" in visibility ? visibility.status : later));
  return {
    url,
    ...(payload === undefined ? {} : { payload }),
    sees: "sees" in visibility && status === undefined ? visibility.sees : () => false,
    answer: (known) => (status === undefined ? answer(known) : error(status)),
  };
}

/** A scope list as people write it: any order, white space, repetition, the alias, empty, with mistakes. */
export function randomLabels(random: Random): string | undefined {
  if (random.chance(0.15)) return undefined;
  if (random.chance(0.12)) return random.pick(["nonsense", "Global,GREYNOISE", "personal:acme", ","]);
  const mistakes = ["Global", "PERSONAL", "acme", "personal:acme", "nonsense", "", "constructor", "__proto__", "*"];
  const words = Array.from({ length: random.int(0, 4) }, () =>
    random.pick(random.chance(0.06) ? mistakes : ["global", "greynoise", "community", "personal", "personal"]),
  );
  const space = () => random.pick(["", "", "", " ", "\t", "  "]);
  return words.map((word) => `${space()}${word}${space()}`).join(",");
}

export const labelsIn = (labels: string | undefined) => ({
  ...(labels === undefined ? {} : { workspace_labels: labels }),
});
export const inQuery = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;

export function randomAddress(random: Random): string {
  if (random.chance(0.05)) return random.pick(["45.200.0.1", "45.1.0.200", "45.2.0.200"]);
  if (random.chance(0.25)) return `46.${random.int(0, 7)}.0.${random.int(0, 2)}`;
  return random.pick(SHARED_ADDRESSES);
}
/** Now and then an invalid one. */
export const perhapsAddress = (random: Random) =>
  random.chance(0.04)
    ? { ip: random.pick(["10.0.0.1", "45.1.2", "x"]), is: false }
    : { ip: randomAddress(random), is: true };
