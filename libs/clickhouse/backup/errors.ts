import { StoreError } from "../client/errors.ts";
import { type BackupPlace, hideCredentials } from "./place.ts";

/** A backup cannot be made or restored; the message says why, and never holds a secret. */
export class BackupError extends StoreError {
  override name = "BackupError";
}

/** What a server is asked to do with a backup. */
export type BackupAction = "make" | "verify" | "restore";

/** A server's error as a sentence: without its stack, its version and the credentials of the place. */
export function formatServerError(error: string, place: BackupPlace, action: BackupAction): string {
  const reason = hideCredentials(stripServerError(error), place);
  // The server describes damage by its effect alone; a missing right is not damage.
  if (action === "verify") return formatUnverified(reason, error.includes("ACCESS_DENIED"));
  if (error.includes("BACKUP_NOT_FOUND")) return `there is no backup there: ${reason}`;
  if (error.includes("BACKUP_ALREADY_EXISTS")) {
    return `a backup already exists there, and backups are never overwritten: ${reason}`;
  }
  if (error.includes("backups.allowed_path") || error.includes("backups.allowed_disk")) {
    return `the server does not allow backups there: ${reason}. A server that runs since before an update must be restarted.`;
  }
  return `the backup cannot be ${action === "make" ? "made" : "restored"}: ${reason}`;
}

function stripServerError(error: string): string {
  const [text = ""] = error.split(/,? Stack trace|\s*\(version |\s*Cannot print extra info/);
  return (
    text
      .replace(/^Code: \d+\. DB::\w*Exception: /, "")
      // Errors of the system and of the server's libraries begin with their type.
      .replace(/^\w+::[eE]xception\. Code: \d+, (?:type: .*?, )?e\.\w+\(\) = (?:-?\d+, )?/, "")
      .replace(/^filesystem error: in \w+: /, "")
      .replace(/[:,\s]*, errno: \d+, strerror: /, ": ")
      .replace(/[.\s]*\([A-Z_\d]*\)\s*$/, "")
      .trim()
  );
}

/** For a backup that was made and is not one. */
export function formatUnverified(reason: string, isDenied = false): string {
  return `the backup cannot be read back: ${reason}${isDenied ? "" : ". Is the disk full?"}`;
}
