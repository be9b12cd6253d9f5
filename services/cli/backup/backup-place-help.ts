/** Explains the PLACE argument of backup and restore. */
export const PLACE_HELP = `
A place is
  a path           a folder, or a file that ends in .tar.gz or .tar.zst. With CLICKHOUSE_URL it is on the server's
                   machine, below the folder that its configuration allows (backups.allowed_path); there choose a folder
                   or .tar.zst, for a server does not compare the checksum of a .tar.gz
  disk:NAME/PATH   on a disk of the server's configuration (backups.allowed_disk)
  https://...      a folder in a bucket that speaks S3; keys in BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY
`;
