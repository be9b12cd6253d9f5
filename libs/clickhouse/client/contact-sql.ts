import { CONTACT_TAG_ID } from "@noisefloor/domain/tags/contact.ts";

/** SQL: the tag under which rollups have proven contact. */
export const CONTACT_TAG = `toUUID('${CONTACT_TAG_ID}')`;
