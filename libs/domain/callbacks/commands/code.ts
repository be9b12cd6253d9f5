import { readUrl, type Target, targetOf } from "../host.ts";

/** Functions of Python, PHP, Perl, Ruby, Java and PowerShell that fetch what their first argument names. */
const FETCHES =
  /\b(?:urlopen|urlretrieve|requests\.(?:get|post)|getstore|file_get_contents|fopen|readfile|include(?:_once)?|require(?:_once)?|curl_init|Download(?:String|File|Data)|OpenRead|GetObject|new (?:java\.net\.)?URL|URI(?:\.open)?|Net::HTTP\.get|(?:File|Class|)(?:System|Path)XmlApplicationContext|(?:wininet|http)\.\w{1,20}|xhr\.open)\s{0,4}\(\s{0,4}[bru]?\\?["'](?:GET\\?["'],\s{0,4}\\?["'])?([a-z][a-z0-9+.-]{1,15}:\/(?:[^"'\\\s)<>]|\\[^"']){1,2048})/gi;
/** A quoted URL. */
const QUOTED_URL = /["'`]([a-z][a-z0-9+.-]{1,15}:\/[^"'`\s)<>]{1,2048})/gi;

/** Functions that connect to the host and port that they are given. */
const CONNECTS = [
  /\b(?:connect|connect_ex|create_connection)\s{0,4}\(\s{0,4}\({0,2}\s{0,4}\\?["']([^"'\\\s:/]{3,253})\\?["']\s{0,4},\s{0,4}\\?["']?(\d{1,5})/gi,
  /\b(?:p?fsockopen|TCPSocket\.(?:new|open)|TCPSocket|TCPClient|UDPClient|Socket|InetSocketAddress|TcpStream::connect|Dial)\s{0,4}\(\s{0,4}\\?["'](?:tcp:\/\/)?([^"'\\\s:/]{3,253})\\?["']\s{0,4},\s{0,4}\\?["']?(\d{1,5})/gi,
  /\bPeerAddr\s{0,4}(?:=>|\()\s{0,4}\\?["']([^"'\\\s:/]{3,253})(?::(\d{1,5}))?\\?["']/gi,
  /\$(?:i|ip|host|target|a)\s{0,4}=\s{0,4}\\?["']([^"'\\\s:/]{3,253})\\?["']\s{0,4};\s{0,4}(?:my\s{0,4})?\$(?:p|port|b)\s{0,4}=\s{0,4}\\?["']?(\d{1,5})/gi,
];
/** Node names the port first. */
const PORT_FIRST = /\bconnect\s{0,4}\(\s{0,4}(\d{1,5})\s{0,4},\s{0,4}\\?["']([^"'\\\s:/]{3,253})\\?["']/gi;

/** A text in quotes after a parenthesis, `=` or `=>`. */
const CALL = /[(=>]\s{0,4}[bru]?\\?["']/;

/** The hosts that calls in the code of a program name. @param isProgram whether it is nothing but a program's code. */
export function findInCode(text: string, isProgram: boolean): (Target | undefined)[] {
  const found: (Target | undefined)[] = [];
  if (!isProgram && !CALL.test(text)) return found;
  if (text.includes(":/") || text.includes(":\\/")) {
    for (const [, url = ""] of text.matchAll(isProgram ? QUOTED_URL : FETCHES)) found.push(readUrl(url));
  }
  for (const pattern of CONNECTS) {
    for (const [, host = "", port] of text.matchAll(pattern)) found.push(targetOf("tcp", host, port));
  }
  for (const [, port, host = ""] of text.matchAll(PORT_FIRST)) found.push(targetOf("tcp", host, port));
  return found;
}

const DECODES =
  /(?:b64decode|base64_decode|decode_base64|FromBase64String|atob|decode64|getDecoder\(\)\.decode|decodeBuffer)\s{0,4}\(?\s{0,4}b?\\?["']([\w+/=-]{8,})/gi;
const ENCODED_PYTHON = /["']([\w+/=-]{8,})["']\.decode\(\s{0,4}["']base64/gi;

/** What calls in a program decode from Base64. */
export function findEncoded(text: string): string[] {
  if (!/64/.test(text)) return [];
  return [DECODES, ENCODED_PYTHON].flatMap((pattern) => [...text.matchAll(pattern)].map(([, encoded = ""]) => encoded));
}
