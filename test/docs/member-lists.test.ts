import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { readText } from "./documents.ts";

/** Some members of an observation, which have little else in common than being members. */
const MEMBERS = [
  ...["transport", "destination_port", "application(?!/)", "credentials", "login_attempts", "commands", "urls"],
  ...["payload_sha256", "(?:tls_)?ja3", "ja4", "hassh", "asn", "organization", "country"],
].map((name) => new RegExp(`\\b${name}\\b`));
const MOST_IN_A_FILE = 4;

/** Formats of sensors and the simulation write the members that they have. */
const PRODUCERS = /^services\/(?:ingest\/formats\/sensors|cli\/simulation)\//;

/** The files that list members, and why the table of members does not do it for them. */
const LISTING: Readonly<Record<string, string>> = {
  "libs/clickhouse/client/contact-sql.ts": "another proof of contact by each",
  "libs/domain/observation/members.ts": "the table of members",
  "libs/domain/query-language/fields.ts": "names of rows and of the hosted service, by which nothing is found",
  "services/ingest/formats/draft.ts": "a producer: makes each member of what sensors write",
  "services/ingest/formats/field-maps/draft.ts": "a producer: reads each member by its form in records",
  "services/query/address/details-query.ts": "each member of the response is another aggregate",
  "services/query/address/response.ts": "a form that clients read, by hand",
  "services/query/address/schema.ts": "a form that clients read, by hand",
  "services/query/legacy/context-response.ts": "a form that clients read, by hand",
  "services/query/legacy/context-schema.ts": "a form that clients read, by hand",
  "services/explorer/src/pages/address/observations.tsx": "a sentence for each member",
};

test("members of an observation are listed once, but where each takes code of its own", async () => {
  const files = await Promise.all(["libs", "services"].map((folder) => readdir(folder, { recursive: true })));
  const sources = ["libs", "services"]
    .flatMap((folder, index) => (files[index] ?? []).map((file) => `${folder}/${file}`))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.|node_modules|\/dist\//.test(file) && !PRODUCERS.test(file));
  expect(sources.length).toBeGreaterThan(500);
  const texts = await Promise.all(sources.map(readText));
  const listing = sources.filter(
    (_, index) => MEMBERS.filter((name) => name.test(texts[index] ?? "")).length > MOST_IN_A_FILE,
  );
  expect(listing.toSorted()).toEqual(Object.keys(LISTING).toSorted());
});
