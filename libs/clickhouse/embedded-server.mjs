// The child process that is the embedded ClickHouse server. It has no life of its own: the query it is given blocks on
// standard input, so it ends when its parent closes the pipe or dies. The call below never returns before that, which
// is why the server cannot share a process with anything else.
import { DataType, load, open } from "ffi-rs";

const [library, ...argv] = process.argv.slice(2);
open({ library: "chdb", path: library });
load({
  library: "chdb",
  funcName: "chdb_query_cmdline",
  retType: DataType.I32,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [argv.length, argv],
});
// The returned number is not an exit code of ClickHouse's; what went wrong stands on standard error.
process.exit(0);
