import type { Form } from "../form.ts";
import { nameLines } from "./address-lines.ts";

/**
 * Lines of hosts(5), which dnsmasq reads, too: each name leads nowhere, by IPv4 and by IPv6. With the first line alone
 * resolvers would ask for the IPv6 address. It has no changes, and nothing below the names, which the format cannot say.
 */
export const hosts: Form = {
  name: "hosts",
  contentType: "text/plain; charset=utf-8",
  reads: "hosts",
  of: "callbacks",
  parameters: [],
  open: () => ({
    variant: "",
    writeList: ({ names }) => nameLines(names, (name) => `0.0.0.0 ${name}\n:: ${name}\n`),
  }),
};
