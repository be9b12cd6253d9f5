import type { FeedHead, FeedObjects } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { IDENTITY, toIndicator } from "./indicator.ts";

/** A bundle of STIX 2.1: an indicator an address; changes are new versions, of gone addresses with `revoked`. */
export const stix: Form = {
  name: "stix",
  contentType: "application/stix+json;version=2.1",
  reads: "objects",
  parameters: [],
  open: () => ({
    variant: "",
    writeList: ({ feed, objects }) => writeBundle(feed, objects()),
    writeChanges: ({ feed, objects }) => writeBundle(feed, objects()),
  }),
};

async function* writeBundle({ id }: FeedHead, objects: FeedObjects): AsyncGenerator<string> {
  yield `{"type":"bundle","id":"bundle--${id}","objects":[${JSON.stringify(IDENTITY)}`;
  for await (const block of objects) {
    yield block.map((object) => `,${JSON.stringify(toIndicator(object))}`).join("");
  }
  yield "]}\n";
}
