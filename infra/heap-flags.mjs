// Prints further flags for Node where a machine, container or unit has less than a gigabyte for the service, its
// ClickHouse and npm together: with V8's own limits the service alone took two thirds of 512 MiB.
import { totalmem } from "node:os";

const MEBIBYTE = 1024 * 1024;
const SMALL_MIB = 960;
const SHARE_OF_HEAP = 0.34;

// Without a limit it is 0, or more than any machine has.
const limit = process.constrainedMemory();
const mebibytes = (limit > 0 ? Math.min(limit, totalmem()) : totalmem()) / MEBIBYTE;
if (mebibytes < SMALL_MIB) {
  const heap = Math.round(mebibytes * SHARE_OF_HEAP);
  console.log(`--max-semi-space-size=8 --initial-old-space-size=32 --max-old-space-size=${heap}`);
}
