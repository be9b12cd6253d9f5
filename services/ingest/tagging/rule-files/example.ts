import { formatIssue } from "@noisefloor/domain/observation/format-issue.ts";
import { observationSchema, type WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { z } from "zod";
import { fieldNames } from "../matching/fields.ts";

const scalar = z.union([z.string(), z.number()]);
const list = z.union([scalar.transform((value) => [value]), z.array(scalar)]).optional();

/** An example by the names of a rule's fields; observationSchema checks the values. */
const exampleSchema = z.strictObject({
  transport: scalar.optional(),
  source_port: scalar.optional(),
  destination_port: scalar.optional(),
  application: scalar.optional(),
  method: scalar.optional(),
  path: scalar.optional(),
  query: scalar.optional(),
  uri: z.string().optional(),
  host: scalar.optional(),
  user_agent: scalar.optional(),
  referer: scalar.optional(),
  header: list,
  cookie: list,
  header_line: list,
  body: scalar.optional(),
  ja3: scalar.optional(),
  ja4: scalar.optional(),
  hassh: scalar.optional(),
  ssh_banner: scalar.optional(),
  username: list,
  password: list,
  login_attempts: scalar.optional(),
  command: list,
  url: list,
  payload_sha256: list,
  label: list,
  source_ip: scalar.optional(),
  asn: scalar.optional(),
  organization: scalar.optional(),
  country: scalar.optional(),
  rdns: scalar.optional(),
  validated_rdns: scalar.optional(),
  sensor: scalar.optional(),
});

/** Some address and time: rules can look at the first only, and an example that is about it gives its own. */
const REST = { observed_at: "2026-01-01T00:00:00Z", source_ip: "8.8.8.8", sensor_id: "example" } as const;

/** @returns the observation that an example of a rule describes, or what is wrong with it. */
export function toObservation(value: unknown): WireObservation | string {
  const example = exampleSchema.safeParse(value, { error: describeIssue });
  if (!example.success) return describe(example.error);
  const { transport, source_port, destination_port, application, login_attempts, asn, ...fields } = example.data;
  if (fields.uri !== undefined && (fields.path !== undefined || fields.query !== undefined)) {
    return "takes uri, or path and query, not both";
  }
  const [path, ...query] = fields.uri?.split("?") ?? [];
  const { method, host, user_agent, referer, header, cookie, header_line, body } = fields;
  const { username = [], password = [] } = fields;
  const credentials = Array.from({ length: Math.max(username.length, password.length) }, (_, index) =>
    defined({ username: username[index], password: password[index] }),
  );
  const observation = observationSchema.safeParse(
    defined({
      ...REST,
      ...defined({ source_ip: fields.source_ip, sensor_id: fields.sensor }),
      ...{ transport, source_port, destination_port, application, login_attempts, asn },
      http: defined({
        method,
        host,
        path: path ?? fields.path,
        query: query.length > 0 ? query.join("?") : fields.query,
        user_agent,
        referer,
        headers: header,
        cookies: cookie,
        header_lines: header_line,
        body,
      }),
      tls: defined({ ja3: fields.ja3, ja4: fields.ja4 }),
      ssh: defined({ hassh: fields.hassh, banner: fields.ssh_banner }),
      credentials,
      commands: fields.command,
      urls: fields.url,
      payload_sha256: fields.payload_sha256,
      labels: fields.label,
      ...{ organization: fields.organization, country: fields.country },
      rdns: fields.validated_rdns ?? fields.rdns,
      rdns_validated: fields.validated_rdns === undefined ? undefined : true,
    }),
    { error: formatIssue },
  );
  return observation.success ? observation.data : describe(observation.error);
}

/** Without the members that are undefined. */
function defined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
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
