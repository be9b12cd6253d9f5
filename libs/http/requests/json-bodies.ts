import { findJsonExcess } from "@noisefloor/domain/text/json-bounds.ts";
import type { FastifyInstance } from "fastify";
import { HttpError } from "../responses/errors.ts";

/** A body that is not parsed, because its values are too many or nested too deep. */
export class JsonExcessError extends HttpError {
  override name = "JsonExcessError";
}

/** Makes JSON bodies that would take long to parse, or code that is recursive too far, a 400. */
export function boundJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const text = String(body);
    const excess = findJsonExcess(text);
    if (excess !== undefined) done(new JsonExcessError(400, `The request body ${excess}`));
    else parse(request, text, done);
  });
}
