// Loaded with `node --import` before the embedded engine starts: lets it exchange parts of replicated tables with other
// servers. ClickHouse's own server program sets three values at its start and registers one HTTP handler; the engine of
// the library has all the code for it and does neither. This replaces those four functions in this process's memory.
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { DataType, load, open } from "ffi-rs";

/** The functions of libchdb 26.7.3-stable.1 for linux-x64 that are replaced, with the bytes that they begin with. */
const FUNCTIONS = {
  interserverAddress: { address: 0x1417c9c0n, start: "41565348" },
  interserverScheme: { address: 0x1417cac0n, start: "488b0680" },
  interserverCredentials: { address: 0x1417c940n, start: "41574156" },
  webTerminalHandler: { address: 0x183aa2c0n, start: "53488b1f" },
};
/** Creates the handler of requests for parts. */
const INTERSERVER_HANDLER = 0x183b3200n;
/** Code from here on is that handler, which must see no credentials, so that it asks for none. */
const HANDLERS_FROM = 0x18000000n;
/** Zeros: two empty texts, the credentials for requests to others. */
const ZEROS = 0x21bc3b40n;
const PAGE = 4096n;
const READ_WRITE_EXECUTE = 7;

function relative(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(Number(value));
  return bytes;
}

const hex = (text) => Buffer.from(text, "hex");
const RETURN_ARGUMENT = hex("4889f8c3"); // mov rax, rdi; ret

/** Writes a short std::string to [rdi]: its characters, and its length in the last of 24 bytes. */
function writeText(text) {
  if (text.length > 22) throw new RangeError(`${text} is too long`);
  const bytes = Buffer.alloc(24);
  bytes.write(text, "latin1");
  bytes[23] = text.length;
  // movabs rax, eight bytes; mov [rdi + offset], rax
  const words = [0, 8, 16].map((at) => [hex("48b8"), bytes.subarray(at, at + 8), hex("488947"), Buffer.from([at])]);
  return Buffer.concat(words.flat());
}

function machineCode(host, port) {
  const word = Buffer.alloc(2);
  word.writeUInt16LE(port);
  const { address: at } = FUNCTIONS.interserverCredentials;
  return {
    interserverAddress: Buffer.concat([writeText(host), hex("66c74718"), word, RETURN_ARGUMENT]),
    interserverScheme: Buffer.concat([writeText("http"), RETURN_ARGUMENT]),
    interserverCredentials: Buffer.concat([
      hex("488b0424"), // mov rax, [rsp]
      hex("488d0d"), // lea rcx, [HANDLERS_FROM]
      relative(HANDLERS_FROM - (at + 11n)),
      hex("31d2"), // xor edx, edx
      hex("4839c8"), // cmp rax, rcx
      hex("7708"), // ja +8
      hex("488d05"), // lea rax, [ZEROS]
      relative(ZEROS - (at + 25n)),
      hex("c3"), // ret
      hex("31c0c3"), // xor eax, eax; ret
    ]),
    webTerminalHandler: Buffer.concat([
      hex("e9"), // jmp INTERSERVER_HANDLER
      relative(INTERSERVER_HANDLER - (FUNCTIONS.webTerminalHandler.address + 5n)),
    ]),
  };
}

function call(funcName, retType, ...args) {
  return load({
    library: "libc",
    funcName,
    retType,
    paramsType: args.map(([type]) => type),
    paramsValue: args.map(([, value]) => value),
  });
}

const protect = (address, bytes) =>
  call(
    "mprotect",
    DataType.I32,
    [DataType.I64, Number(address)],
    [DataType.I64, bytes],
    [DataType.I32, READ_WRITE_EXECUTE],
  );
const copy = (address, bytes) =>
  call(
    "memcpy",
    DataType.I64,
    [DataType.I64, Number(address)],
    [DataType.U8Array, bytes],
    [DataType.I64, bytes.length],
  );

function enableReplication(library, host, port) {
  const mapping = readFileSync("/proc/self/maps", "latin1")
    .split("\n")
    .find((line) => line.endsWith(library) && line.split(" ")[2] === "00000000");
  if (mapping === undefined) throw new Error(`${library} is not in memory`);
  const base = BigInt(`0x${mapping.split("-")[0]}`);
  const memory = openSync("/proc/self/mem", "r");
  const code = machineCode(host, port);
  for (const [name, { address, start }] of Object.entries(FUNCTIONS)) {
    const found = Buffer.alloc(4);
    readSync(memory, found, 0, 4, base + address);
    if (found.toString("hex") !== start) throw new Error(`this library has another ${name}: it is not 26.7.3-stable.1`);
    // The code may lie on two pages.
    const page = ((base + address) / PAGE) * PAGE;
    if (protect(page, Number(2n * PAGE)) !== 0) throw new Error(`the memory of ${name} cannot be written`);
    copy(base + address, code[name]);
  }
  closeSync(memory);
}

const [library] = process.argv.slice(2);
const { INTERSERVER_HOST: host, INTERSERVER_PORT: port } = process.env;
if (process.platform !== "linux" || process.arch !== "x64") throw new Error("replicas run on linux-x64 alone");
open({ library: "libc", path: "" });
open({ library: "chdb", path: library });
enableReplication(library, host, Number(port));

// The engine cannot write fetched parts without a working directory, and loses its own before it listens.
const folder = process.cwd();
const watching = setInterval(() => {
  if (existsSync(folder)) return;
  process.chdir("/");
  clearInterval(watching);
}, 10);
