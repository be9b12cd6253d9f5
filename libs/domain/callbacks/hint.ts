import { decodePercent } from "./commands/decode.ts";

/**
 * Three letters of each word without which a request cannot carry a command or lookup that calls a host, a blank for
 * what may stand at its end.
 */
const TRIGRAMS = [
  ...["wge", "cur", "ftp", "v/t", "v/u", "eln", "soc", "ssh", "scp", "ct(", "eer", "veo", "cao", "e64", "rsh", "wsh"],
  ...["rsy", "git", "nss", "xy=", "dap", "rmi", "iio", "iwr", "irm", "ebr", "sfe", "rtu", "tsa", "sht"],
  ...["svr", "sie", "lwp", "ria", "nc ", "nc+", "nc$", "nc,", "nca", "jnd"],
];
/** Two letters that matter whatever follows: of `${` and calls in code. */
const DIGRAMS = ["${", '("', "('", "(\\"];

const low = (text: string, index: number) => text.charCodeAt(index) & 31;
const CANDIDATES = new Uint8Array(32 ** 3);
for (const text of TRIGRAMS) CANDIDATES[(low(text, 0) << 10) | (low(text, 1) << 5) | low(text, 2)] = 1;
for (const text of DIGRAMS) {
  for (let before = 0; before < 32; before++) CANDIDATES[(before << 10) | (low(text, 0) << 5) | low(text, 1)] = 1;
}

const WAYS =
  "wget|curl|ftp|jndi|\\/dev\\/[tu]|\\bnc(?:at)?[\\s+$,]|telnet|socat|\\bssh[\\s+$,]|\\bscp[\\s+$,]|connect\\s*\\(|socket|" +
  "fsock|peeraddr|slaveof|replicaof|base64|powershell|pwsh|rsync|git[\\s+]|openssl|_proxy=|\\$\\{";
const IN_REQUESTS = new RegExp(
  `${WAYS}|(?:ldaps?|rmi|iiop):|\\(\\s?\\\\?["']|\\b(?:iwr|irm)\\b|webrequest|` +
    "bitstransfer|certutil|bitsadmin|mshta|regsvr32|msiexec|lwp-|aria2c",
  "i",
);
const IN_COMMANDS = new RegExp(`${WAYS}|:[/\\\\]|\\bopen\\s|migrate|(?:-o|--url|--pool)[\\s=]`, "i");

const PERCENT = 37;

/**
 * Whether a text of a request may name a host to call: every text of every observation is asked. A scan that merges
 * upper and lower case tells nearly all that do not.
 */
export function mayCall(text: string | undefined): boolean {
  if (text === undefined) return false;
  let last = 0;
  let isEncoded = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === PERCENT) isEncoded = true;
    last = ((last << 5) | (code & 31)) & 0x7fff;
    if (CANDIDATES[last] === 1) return IN_REQUESTS.test(decodePercent(text));
  }
  return isEncoded && IN_REQUESTS.test(decodePercent(text));
}

/** Whether a command may: it may be a URL that any program takes. */
export const mayCommandCall = (command: string): boolean => IN_COMMANDS.test(command);
