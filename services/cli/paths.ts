import { fileURLToPath } from "node:url";

/** Paths of the project's files that commands read. */
export const MIGRATIONS_DIRECTORY = fileURLToPath(new URL("../../infra/clickhouse/migrations", import.meta.url));
export const TAGS_DIRECTORY = fileURLToPath(new URL("../../infra/tags", import.meta.url));
export const FIELD_MAPS_DIRECTORY = fileURLToPath(new URL("../../infra/field-maps", import.meta.url));
/** Beside the bundle; the sources have none. */
export const PREPARED_TAGS_FILE = fileURLToPath(new URL("./prepared-tags.json", import.meta.url));
export const PREPARED_EXAMPLES_FILE = fileURLToPath(new URL("./prepared-examples.json", import.meta.url));
export const EXPLORER_DIRECTORY = fileURLToPath(new URL("./explorer", import.meta.url));
export const STARTER_NETWORKS_DIRECTORY = fileURLToPath(new URL("../../infra/networks/starter", import.meta.url));
export const KNOWN_LISTS_DIRECTORY = fileURLToPath(new URL("../../infra/networks", import.meta.url));
export const OPERATOR_DOMAINS_FILE = fileURLToPath(
  new URL("../../infra/networks/operator-domains.yaml", import.meta.url),
);
