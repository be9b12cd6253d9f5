import type { Check } from "./env.ts";

/** Secrets, which examples give a placeholder. */
const SECRETS = [
  "CLICKHOUSE_PASSWORD",
  "SENSOR_KEYS",
  "METRICS_TOKEN",
  "KAFKA_SASL_PASSWORD",
  "BACKUP_S3_ACCESS_KEY",
  "BACKUP_S3_SECRET_KEY",
  "QUERY_KEY",
  "REDIS_URL",
  "HPFEEDS_URL",
  "ELASTICSEARCH_API_KEY",
  "SMTP_URL",
] as const;

type Secrets = { readonly [Name in (typeof SECRETS)[number]]?: string | readonly string[] | undefined };

const PLACEHOLDER =
  /^(?:(?:change|replace)[-_ ]?(?:me|this|it)|(?:your|example|placeholder|todo|fixme)(?:[-_ ]|$)|<.*>$)/i;

/** What everybody can read in an example is no secret. */
function isPlaceholder(value: string): boolean {
  const password = URL.canParse(value) ? new URL(value).password : value;
  return PLACEHOLDER.test(password.trim());
}

/** For each secret, that it is no longer the placeholder of an example. */
export const PLACEHOLDER_CHECKS: readonly Check<Secrets>[] = SECRETS.map((name) => ({
  of: [name],
  message:
    "is still the placeholder of an example, which everybody can read: make a value of your own (openssl rand -hex 24)",
  isMet: (variables) => ![variables[name] ?? []].flat().some(isPlaceholder),
}));
