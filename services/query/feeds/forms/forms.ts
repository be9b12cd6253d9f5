import type { Form } from "../form.ts";
import { mmdb } from "../mmdb/mmdb.ts";
import { stix } from "../objects/stix.ts";
import { csv } from "./csv.ts";
import { dnsbl, rpz } from "./dns-zones.ts";
import { iprep } from "./iprep.ts";
import { ipset } from "./ipset.ts";
import { json, ndjson } from "./json.ts";
import { hosts } from "./names.ts";
import { nft } from "./nft.ts";
import { dataset, rules } from "./suricata.ts";
import { txt } from "./txt.ts";

/** Every form that a feed has, in the order in which they are listed to users. */
export const FORMS: readonly Form[] = [
  txt,
  csv,
  ndjson,
  json,
  nft,
  ipset,
  iprep,
  stix,
  mmdb,
  dnsbl,
  rpz,
  hosts,
  dataset,
  rules,
];
