import { literal } from "../client/sql-text.ts";

/** Where a backup is, as the server sees it. */
export type BackupPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "disk"; readonly disk: string; readonly path: string }
  | {
      readonly kind: "s3";
      readonly url: string;
      /** Without them the server uses its own. */
      readonly credentials?: { readonly accessKey: string; readonly secretKey: string } | undefined;
    };

export function placeToSql(place: BackupPlace): string {
  if (place.kind === "file") return `File(${literal(place.path)})`;
  if (place.kind === "disk") return `Disk(${literal(place.disk)}, ${literal(place.path)})`;
  const { url, credentials } = place;
  const parts = credentials === undefined ? [url] : [url, credentials.accessKey, credentials.secretKey];
  return `S3(${parts.map(literal).join(", ")})`;
}

/** A place as the commands take it. */
export function formatPlace(place: BackupPlace): string {
  if (place.kind === "s3") return place.url;
  return place.kind === "disk" ? `disk:${place.disk}/${place.path}` : place.path;
}

/** A server's message without the place's credentials. */
export function hideCredentials(text: string, place: BackupPlace): string {
  const secrets = place.kind === "s3" ? Object.values(place.credentials ?? {}) : [];
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "[hidden]"), text);
}
