import { useState } from "preact/hooks";
import { askFile } from "../../api/ask.ts";
import { ApiFailure } from "../../api/failure.ts";
import { formPath } from "../../api/feeds.ts";
import { useKey } from "../../api/kept-key.ts";
import type { Feed } from "../../api/operations.ts";
import { BASE } from "../../routing/paths.ts";
import { ActionFault } from "../../shell/action-fault.tsx";
import { saveFile } from "../../shell/save-file.ts";

const FORMS = [
  ["txt", "a host a line"],
  ["csv", "a table with times, tags and networks"],
  ["ndjson", "the same, an object a line"],
  ["json", "the same as one object"],
  ["nft", "a script for nftables"],
  ["ipset", "lines for ipset"],
  ["iprep", "Suricata's reputation list"],
  ["stix", "a bundle of STIX 2.1"],
  ["mmdb", "a MaxMind DB"],
  ["dnsbl", "a zone of rbldnsd"],
  ["rpz", "a response policy zone"],
] as const;
const FORMS_OF_NAMES = [
  ["hosts", "names as /etc/hosts has them, leading nowhere"],
  ["dataset", "names as a set of Suricata"],
  ["rules", "Suricata's rules for its sets"],
] as const;

/** The forms of a feed, each to be saved. The key goes into a header, so that no link has it. */
export function Forms({ name, of }: Pick<Feed, "name" | "of">) {
  const { key } = useKey();
  const [fault, setFault] = useState("");
  const save = async (form: string) => {
    setFault("");
    try {
      saveFile(`${name}.${form}`, await askFile(formPath(name, form), key, new AbortController().signal));
    } catch (error) {
      setFault(error instanceof ApiFailure ? error.message || "The service did not answer." : String(error));
    }
  };
  return (
    <section aria-labelledby="forms">
      <h2 id="forms">Its forms</h2>
      <ul class="forms">
        {[...FORMS, ...(of === "callbacks" ? FORMS_OF_NAMES : [])].map(([form, content]) => (
          <li key={form}>
            <a
              href={`${BASE}${formPath(name, form)}`}
              data-form={form}
              onClick={(event) => {
                event.preventDefault();
                void save(form);
              }}
            >
              {form}
            </a>{" "}
            <span class="faint">{content}</span>
          </li>
        ))}
      </ul>
      <ActionFault message={fault} />
    </section>
  );
}
