import type { Atom, Expression, TaggingRule } from "../rule.ts";

/**
 * Makes a test of whether any rule looks at who saw an observation, or asks for its source port. Observations of one
 * source with the same content differ in nothing else that rules can see.
 */
export function visitTest(rules: readonly TaggingRule[]): (sourcePort: number | undefined) => boolean {
  const ports = new Set<number | undefined>();
  let areAllAsked = false;
  for (const atom of rules.flatMap(({ match }) => atomsOf(match))) {
    if (atom.kind === "network" || (atom.field !== "sensor" && atom.field !== "source_port")) continue;
    if (atom.kind === "number" && atom.operator === "equals") ports.add(atom.value);
    else areAllAsked = true;
  }
  return (sourcePort) => areAllAsked || ports.has(sourcePort);
}

function atomsOf(expression: Expression): readonly Atom[] {
  switch (expression.kind) {
    case "clause":
      return expression.atoms;
    case "and":
    case "or":
      return expression.parts.flatMap(atomsOf);
    case "not":
      return atomsOf(expression.part);
  }
}
