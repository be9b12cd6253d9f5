import { expect, test } from "vitest";
import { parseSearch } from "./parse-search.ts";

test("an address, a tag's name and a CVE lead to their pages, whatever is around them", () => {
  expect(parseSearch(" 45.0.0.1\t")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.1/32")).toEqual({ path: "/ip/45.0.0.1" });
  expect(parseSearch("45.0.0.0 / 24")).toEqual({ path: "/networks/45.0.0.0/24" });
  expect(parseSearch("45.0.77.1/016")).toEqual({ path: "/networks/45.0.77.1/16" });
  expect(parseSearch("10.0.0.1")).toEqual({ path: "/ip/10.0.0.1" });
  expect(parseSearch("cve-2024-3094 ")).toEqual({ path: "/tags?cve=CVE-2024-3094" });
  expect(parseSearch("ssh scanner")).toEqual({ path: "/tags?name=ssh+scanner" });
  expect(parseSearch("<script>")).toEqual({ path: "/tags?name=%3Cscript%3E" });
});

test("what cannot be searched is answered in words", () => {
  const messages = [
    "",
    "45.0.0.0/15",
    "45.0.0.0/33",
    "300.1.1.1/8",
    "2001:db8::1",
    "fe80::/10",
    "45.0.0",
    "1.2.3.4.5",
    "045.0.0.1",
  ].map((input) => {
    const result = parseSearch(input);
    return "message" in result ? result.message : `${input} led to ${result.path}`;
  });
  for (const message of messages) expect(message).toMatch(/^(?:Enter|Only|This is no) /);
  expect(messages[1]).toContain("from /16 to /32");
});
