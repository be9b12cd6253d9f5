import { inject } from "vitest";

/**
 * What only some files need, by its name: the addresses of the Kafka brokers, and the folder of the built program. Each
 * is started or made when the first test of a run asks for it, and shared by all.
 */
export type OnDemand = "kafka" | "build";

/** @throws Error with why it could not be started. */
export async function onDemand(name: OnDemand): Promise<string> {
  const response = await fetch(`${inject("onDemand")}/${name}`);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

/** Builds the program, which else each of the first processes would do. Outside the tests, the first process builds it. */
export async function ensureBuilt(): Promise<void> {
  if (process.env.VITEST) await onDemand("build");
}

/** The folder with the built pages. */
export async function builtExplorer(): Promise<string> {
  return `${await onDemand("build")}/explorer`;
}
