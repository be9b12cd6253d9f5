import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FeedHead } from "../feed-content.ts";
import type { Form } from "../form.ts";
import { addressLines, nameLines } from "./address-lines.ts";
import { KIND } from "./kind.ts";

/** A set of Suricata: the names in base64, or as `kind=address` wants, the addresses. Suricata reads whole sets. */
export const dataset: Form = {
  name: "dataset",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  of: "callbacks",
  parameters: [KIND],
  open: (query) => {
    const kind = readParameter(query, KIND) ?? "name";
    return {
      variant: kind,
      writeList: ({ addresses, names }) =>
        kind === "address"
          ? addressLines(addresses, "", "\n")
          : nameLines(names, (name) => `${Buffer.from(name).toString("base64")}\n`),
    };
  },
};

/** The files that the rules load from their own folder, as `dataset` has them. */
export const datasetFiles = (name: string) => ({
  names: `noisefloor-${name}.names`,
  addresses: `noisefloor-${name}.addresses`,
});

/** A set's name has at most 63 characters in Suricata. */
const MAX_NAME = 50;
/** Suricata's local rules have numbers from 1,000,000 to 1,999,999. */
const FIRST_SID = 1_000_000;
const RULES = 4;

/** Different feeds have different numbers, but for chance. */
const sidOf = ({ id }: FeedHead) => FIRST_SID + RULES * (Number.parseInt(id.slice(0, 8), 16) % (1_000_000 / RULES));

/**
 * Rules of Suricata that alert when a machine asks for a listed name, names one in a TLS hello or an HTTP request, or sends
 * to a listed address. They load two sets, so they stay the same while the list changes. One alert an hour tells of an
 * address, where each packet would.
 */
export const rules: Form = {
  name: "rules",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  of: "callbacks",
  parameters: [],
  open: () => ({
    variant: "",
    *writeList({ feed }) {
      const files = datasetFiles(feed.name);
      const set = feed.name.slice(0, MAX_NAME);
      const names = `dataset:isset,${set}-names,type string,load ${files.names}`;
      const addresses = `dataset:isset,${set}-addresses,type ip,load ${files.addresses}`;
      const conditions = [
        ["dns", "asked for", `dns.query; to_lowercase; ${names}`],
        ["tls", "named in a TLS hello", `tls.sni; to_lowercase; ${names}`],
        ["http", "named in a request", `http.host; ${names}`],
        ["ip", "sent to", `ip.dst; ${addresses}; threshold:type limit,track by_both,count 1,seconds 3600`],
      ];
      for (const [index, [protocol = "", verb = "", condition = ""]] of conditions.entries()) {
        const about = `msg:"Noisefloor ${feed.name}: a host that intruders call was ${verb}"`;
        const rest = `classtype:trojan-activity; sid:${sidOf(feed) + index}; rev:1;`;
        yield `alert ${protocol} $HOME_NET any -> any any (${about}; ${condition}; ${rest})\n`;
      }
    },
  }),
};
