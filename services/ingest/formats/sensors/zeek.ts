import { splitTarget, toObservation } from "../draft.ts";
import { type Fields, objectAt, portAt, textAt, textsAt } from "../fields.ts";
import type { Decoded, DecodeOptions, LogFormat } from "../format.ts";

/** Logs whose lines are about the sensor itself, or about files without a source. */
const WITHOUT_SOURCE = new Set(["stats", "capture_loss", "reporter", "files", "x509", "pe", "loaded_scripts"]);

/** Zeek's logs, JSON or tab-separated: conn, http, ssh, ssl and those of other protocols. */
export const zeek: LogFormat = {
  name: "zeek",
  description: "Zeek's logs (conn, http, ssh, ssl, ...), JSON or tab-separated; set OWN_ADDRESSES as well",
  json: {
    signs: "id.orig_h",
    recognizes: (record) =>
      "id.orig_h" in record ||
      ("_path" in record && "ts" in record) ||
      textAt(objectAt(record, "id"), "orig_h") !== undefined,
    decode: decodeZeek,
  },
  text: {
    recognizes: (line) => /^#(?:separator|fields)\b/.test(line),
    open: openTsv,
  },
};

function decodeZeek(record: Fields, options: DecodeOptions): Decoded {
  const source = textAt(record, "id.orig_h");
  const path = textAt(record, "_path");
  if (path !== undefined && WITHOUT_SOURCE.has(path)) return { ignored: "about-sensor" };
  if (source !== undefined && options.isOwnAddress(source)) return { ignored: "own-traffic" };
  const transport = textAt(record, "proto");
  const isIcmp = transport?.includes("icmp") === true;
  const depth = Number(textAt(record, "trans_depth") ?? 1);
  const uid = textAt(record, "uid");
  const banner = textAt(record, "client");
  const state = textAt(record, "conn_state");
  const func = textAt(record, "func");
  const decoded = toObservation(
    {
      format: "zeek",
      observedAt: record.ts,
      isUtc: true,
      sensor: textAt(record, "_system_name", "_node"),
      sourceIp: source,
      sourceMembers: ["id.orig_h"],
      // For ICMP these are type and code.
      sourcePort: isIcmp ? undefined : portAt(record, "id.orig_p"),
      destinationPort: isIcmp ? undefined : portAt(record, "id.resp_p"),
      transport: transport ?? (hasPorts(record) ? "tcp" : undefined),
      application: applicationOf(record, path),
      session: uid && depth > 1 ? `${uid}/${depth - 1}` : uid,
      labels: [
        ...(state === undefined ? [] : [`zeek-state:${state}`]),
        ...(func === undefined ? [] : [`zeek-func:${func}`]),
      ],
      http: "uri" in record || "user_agent" in record ? httpOf(record) : undefined,
      ja3: textAt(record, "ja3"),
      ja4: textAt(record, "ja4"),
      hassh: textAt(record, "hassh"),
      sshBanner: banner?.startsWith("SSH-") ? banner : undefined,
      credentials: credentialsOf(record),
      metadata: {
        ...(isIcmp && { icmp_type: record["id.orig_p"], icmp_code: record["id.resp_p"] }),
        tls_sni: textAt(record, "server_name"),
        zeek_log: path,
      },
      ...(uid !== undefined && { key: [uid, path, record.ts, depth] }),
    },
    options,
  );
  return !("observation" in decoded) ? decoded : { ...decoded, destination: textAt(record, "id.resp_h") };
}

const hasPorts = (record: Fields) => portAt(record, "id.resp_p") !== undefined;

function applicationOf(record: Fields, path: string | undefined): string | undefined {
  const service = textAt(record, "service")?.split(",").at(-1);
  if (service !== undefined) return service === "ssl" ? "tls" : service;
  if (path !== undefined && path !== "conn") return path === "ssl" ? "tls" : path;
  if ("trans_depth" in record) return "http";
  // A log without its name, recognised by a column that only this protocol's has.
  return "func" in record && portAt(record, "id.resp_p") === 502 ? "modbus" : undefined;
}

function httpOf(record: Fields) {
  const target = textAt(record, "uri");
  return {
    method: textAt(record, "method"),
    host: textAt(record, "host") ?? splitTarget(target).host,
    target,
    userAgent: textAt(record, "user_agent"),
    referer: textAt(record, "referrer"),
    headers: textsAt(record, "client_header_names"),
    cookies: textsAt(record, "cookie_vars"),
  };
}

function credentialsOf(record: Fields) {
  const username = textAt(record, "username", "user");
  return username === undefined ? [] : [{ username, password: textAt(record, "password") }];
}

/** No log has so many columns. A header of a million would be compared with each line after it. */
const MAX_COLUMNS = 500;

/** Tab-separated logs name their columns in a header; `-` is a value that is not there. */
function openTsv() {
  let columns: readonly string[] = [];
  let path: string | undefined;
  let separator = "\t";
  return (line: string, options: DecodeOptions): Decoded => {
    if (line.startsWith("#")) {
      const [name, ...values] = line.split(line.startsWith("#separator") ? " " : separator, MAX_COLUMNS);
      if (name === "#separator") separator = values[0] === "\\x09" ? "\t" : (values[0] ?? "\t");
      if (name === "#fields") columns = values;
      if (name === "#path") path = values[0];
      return { ignored: "header" };
    }
    const values = line.split(separator, MAX_COLUMNS);
    const record: Record<string, unknown> = path === undefined ? {} : { _path: path };
    for (const [index, column] of columns.entries()) {
      const value = values[index];
      if (value !== undefined && value !== "-" && value !== "(empty)") record[column] = value;
    }
    return decodeZeek(record, options);
  };
}
