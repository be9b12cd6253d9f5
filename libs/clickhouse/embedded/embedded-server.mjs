// The child process that is the embedded ClickHouse server. It ends when its parent closes standard input or dies.
// The engine occupies a thread for as long as it runs and cannot be stopped, so it needs a process of its own.
import { writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { setPriority } from "node:os";
import { DataType, load, open } from "ffi-rs";

const [library, ...options] = process.argv.slice(2);
// What the engine writes, backups among it, holds hashes of keys: no other user of the machine may read it.
process.umask(0o077);
/** The file descriptor that the parent closes to let the server listen. */
const GATE = 3;
const [O_RDWR, O_NOCTTY] = [2, process.platform === "darwin" ? 0x20000 : 0x100];

/** Niceness of the engine: when both want a processor, the service that answers requests goes first. */
const NICENESS = 10;

/**
 * Lowers the priority of every thread that this one starts. Linux may schedule each session as one group, in which
 * niceness counts only among the session's own processes; the engine has a session of its own, so the group gets it
 * too.
 */
function yieldToService() {
  setPriority(NICENESS);
  try {
    writeFileSync("/proc/self/autogroup", String(NICENESS));
  } catch {
    // This system does not schedule by session.
  }
}

/** Calls a function of the C library. */
function call(funcName, values, retType = DataType.I32) {
  const paramsType = values.map((value) => (typeof value === "string" ? DataType.String : DataType.I32));
  return load({ library: "c", funcName, retType, paramsType, paramsValue: values });
}

/**
 * Gives the engine a terminal as standard input. Without one it treats the error of a connection as its own and aborts:
 * one malformed request would end the server.
 * @returns whether there is one, and the file descriptor of the pipe from the parent.
 */
function openTerminal() {
  const parent = call("dup", [0]);
  const keyboard = call("posix_openpt", [O_RDWR | O_NOCTTY]);
  if (parent < 0 || keyboard < 0 || call("grantpt", [keyboard]) !== 0 || call("unlockpt", [keyboard]) !== 0) {
    return { isOpen: false, parent: 0 };
  }
  const terminal = call("open", [call("ptsname", [keyboard], DataType.String), O_RDWR | O_NOCTTY]);
  return terminal < 0 || call("dup2", [terminal, 0]) !== 0 ? { isOpen: false, parent: 0 } : { isOpen: true, parent };
}

// An empty path is the program itself, which has the C library.
open({ library: "c", path: "" });
const { isOpen, parent } = openTerminal();
yieldToService();
// SIGKILL, not an orderly end: while the engine shuts down it needs a working directory, and with one SQL can read
// every file. Inserts that it has acknowledged are stored.
new Socket({ fd: parent, readable: true })
  .on("error", () => {})
  .on("close", () => process.kill(process.pid, "SIGKILL"))
  .resume();

const queries = [
  // Shows the parent that the engine needs the working directory no more.
  "SELECT 1 INTO OUTFILE 'up'",
  `CREATE TEMPORARY TABLE gate (line String) ENGINE = File(LineAsString, ${GATE})`,
  "SELECT * FROM gate",
  ...(options.includes("--tcp_port") ? ["SYSTEM START LISTEN TCP"] : []),
  "SYSTEM START LISTEN HTTP",
  "SELECT sleep(3) FROM system.numbers SETTINGS max_block_size = 1, interactive_delay = 3000000 FORMAT Null",
];
const argv = ["clickhouse", ...options, "--query", queries.join("; ")];
if (isOpen) argv.push("--interactive", "--disable_suggestion");

open({ library: "chdb", path: library });
await load({
  library: "chdb",
  funcName: "chdb_query_cmdline",
  retType: DataType.I32,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [argv.length, argv],
  runInNewThread: true,
});
// The returned number is not an exit code of ClickHouse; errors are on standard error.
process.exit(0);
