import type { ResponseReservation } from "../limits/response-memory.ts";
import { type Abortable, createWriter, writeEach } from "./response-body.ts";

/** The body of a success that is not JSON of the operation's schema, serialised already. */
export class MediaBody {
  /** As the header `Content-Type` has it. */
  readonly mediaType: string;
  readonly pieces: readonly Buffer[];
  constructor(mediaType: string, pieces: readonly Buffer[]) {
    this.mediaType = mediaType;
    this.pieces = pieces;
  }
}

/** The success of a request whose client has the body already: a 304. */
export const NOT_MODIFIED = Symbol("not modified");

type Parts = Iterable<string | Buffer> | AsyncIterable<string | Buffer>;

/**
 * Serialises a body of another media type than JSON part by part, in memory that is reserved for it.
 * @param mediaType one that the operation declares, with a charset where it needs one.
 */
export type ToMediaBody = (mediaType: string, parts: Parts) => Promise<MediaBody>;

/** @throws the reservation's error when there is no memory for the response, and the signal's reason. */
export function mediaBodyMaker(memory: ResponseReservation, signal: Abortable): ToMediaBody {
  return async (mediaType, parts) => {
    const writer = createWriter(memory, signal);
    await writeEach(parts, writer, (part) => {
      if (typeof part === "string") writer.write(part);
      else writer.appendBytes(part);
    });
    return new MediaBody(mediaType, writer.end());
  };
}
