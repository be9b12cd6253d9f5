import { formatIssue } from "@noisefloor/domain/observation/format-issue.ts";
import type { Members } from "@noisefloor/domain/observation/member.ts";
import { HTTP, MEMBERS, SSH, TLS } from "@noisefloor/domain/observation/members.ts";
import { observationSchema, type WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { z } from "zod";
import { fieldNames, fieldOf } from "../matching/fields.ts";

const scalar = z.union([z.string(), z.number()]);
const list = z.union([scalar.transform((value) => [value]), z.array(scalar)]).optional();

/** An example by the names of a rule's fields; observationSchema checks the values. */
const exampleSchema = z.strictObject(
  Object.fromEntries(
    fieldNames().map((name) => {
      const field = fieldOf(name);
      return [name, field.type === "text" && field.isList ? list : scalar.optional()];
    }),
  ),
);
type Example = z.output<typeof exampleSchema>;

/** Some address and time: rules can look at the first only, and an example that is about it gives its own. */
const REST = { observed_at: "2026-01-01T00:00:00Z", source_ip: "8.8.8.8", sensor_id: "example" } as const;

/** @returns the observation that an example of a rule describes, or what is wrong with it. */
export function toObservation(value: unknown): WireObservation | string {
  const example = exampleSchema.safeParse(value, { error: describeIssue });
  if (!example.success) return describe(example.error);
  const {
    uri,
    path,
    query,
    username,
    password,
    credential,
    validated_rdns,
    source_ip = REST.source_ip,
    ...fields
  } = example.data;
  if (uri !== undefined && (path !== undefined || query !== undefined)) {
    return "takes uri, or path and query, not both";
  }
  const target = uri === undefined ? { path, query } : splitUri(String(uri));
  const observation = observationSchema.safeParse(
    {
      ...REST,
      ...membersOf(MEMBERS, fields),
      source_ip,
      credentials: [...loginsOf(username, password), ...[credential ?? []].flat().map(splitLogin)],
      http: membersOf(HTTP, { ...fields, ...target }),
      tls: membersOf(TLS, fields),
      ssh: membersOf(SSH, fields),
      ...(validated_rdns !== undefined && { rdns: validated_rdns, rdns_validated: true }),
    },
    { error: formatIssue },
  );
  return observation.success ? observation.data : describe(observation.error);
}

/** The members that an example has a field of. */
function membersOf(table: Members, example: Example): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, { rules: [rule = ""] = [] }]) =>
      example[rule] === undefined ? [] : [[name, example[rule]]],
    ),
  );
}

function splitUri(uri: string) {
  const [path, ...query] = uri.split("?");
  return { path, query: query.length > 0 ? query.join("?") : undefined };
}

/** A login as a rule has it whole: `root/admin`. */
function splitLogin(login: string | number) {
  const [username, ...password] = String(login).split("/");
  return { username, password: password.join("/") };
}

/** The first name goes with the first password, and so on. */
function loginsOf(usernames: Example[string], passwords: Example[string]) {
  const [names, secrets] = [[usernames ?? []].flat(), [passwords ?? []].flat()];
  return Array.from({ length: Math.max(names.length, secrets.length) }, (_, index) => ({
    ...(names[index] !== undefined && { username: names[index] }),
    ...(secrets[index] !== undefined && { password: secrets[index] }),
  }));
}

function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === "unrecognized_keys") {
    return `there is no field "${issue.keys.join(", ")}"; fields are ${fieldNames().join(", ")}`;
  }
  if (issue.code === "invalid_union")
    return "takes a text or a number, or where an observation has several a list of them";
  return formatIssue(issue);
}

function describe(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => `${path.length === 0 ? "" : `${path.join(".")}: `}${message}`)
    .join("; ");
}
