import type { Command } from "commander";
import type { CommandContext } from "./framework/command.ts";
import { positiveInteger } from "./framework/positive-integer.ts";

const PLACES_HELP = `
A place is
  a path           a folder, or a file that ends in .tar, .tar.gz or .tar.zst. With CLICKHOUSE_URL it is on the server's
                   machine, below the folder that its configuration allows (backups.allowed_path)
  disk:NAME/PATH   on a disk of the server's configuration (backups.allowed_disk)
  https://...      a folder in a bucket that speaks S3; keys in BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY
`;

const BACKUP_HELP = `
Everything that is stored goes into it: observations, rollups, tags, lists, workspaces and keys (their hashes), dead
letters of the table. Services may go on meanwhile. Ctrl-C cancels it.`;

const RESTORE_HELP = `
Stop the services first. The backup is read and checked beside the database and then put in place as a whole: if it is
damaged or missing, or Ctrl-C cancels it, the database stays as it was. Meanwhile it needs as much space again. If it is
interrupted in its last moment, no service starts until it was run again, which then needs no --replace.
The retention becomes the backup's. Keys revoked since the backup stay revoked if the store still knows of it, and keys
made since are gone; in an empty store the backup's keys are valid again. What came over Kafka since then must be read
again: the restore prints how.`;

/** Adds the commands that look after the store. */
export function addCareCommands(program: Command, createContext: () => Promise<CommandContext>): void {
  program
    .command("retention")
    .description("show what each table holds from when to when, its size, and how long it is kept; changes nothing")
    .option("--days <n>", "also what this retention would delete (default: RETENTION_DAYS)", positiveInteger)
    .option("--json", "as JSON", false)
    .action(async (options: { days?: number; json: boolean }) =>
      (await import("./commands/retention.ts")).runRetention(options, await createContext()),
    );
  program
    .command("backup")
    .description("make a backup of everything that is stored")
    .argument("<place>", "where to")
    .addHelpText("after", PLACES_HELP + BACKUP_HELP)
    .action(async (place: string) => (await import("./commands/backup.ts")).runBackup(place, await createContext()));
  program
    .command("restore")
    .description("put a backup in the place of the store")
    .argument("<place>", "where from")
    .option("--replace", "also when the store holds data, which are lost", false)
    .addHelpText("after", PLACES_HELP + RESTORE_HELP)
    .action(async (place: string, options: { replace: boolean }) =>
      (await import("./commands/restore.ts")).runRestore(place, options, await createContext()),
    );
}
