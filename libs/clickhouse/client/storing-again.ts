import { randomUUID } from "node:crypto";

/**
 * Settings of an insert that stores its rows also when the table has had the same ones before. A token of its own says
 * so to every version: 26.7 ignores `insert_deduplicate` for data, as `deduplicate_insert` overrides it.
 */
export const storingAgain = () => ({ insert_deduplication_token: randomUUID() });
