import { expect, test } from "vitest";
import { addressPath, PAGES, pagePath, withQuery } from "./paths.ts";

test("a page's URL has the values that differ from its defaults, encoded", () => {
  expect(pagePath("/tags", { name: "a&b", cve: "" })).toBe("/tags?name=a%26b");
  expect(withQuery("/tags/x", { days: "7", width: "4h" }, { days: "7", width: "1h" })).toBe("/tags/x?width=4h");
  expect(addressPath("a/../b")).toBe("/ip/a%2F..%2Fb");
});

test("links to pages stay in the explorer, links to files and the API's description do not", () => {
  for (const page of [
    "/",
    "/today",
    "/overview?days=7",
    "/tags",
    "/tags?name=x",
    "/tags/ssh-scanner?days=30",
    "/ip/1.2.3.4",
    "/riot/8.8.8.8",
    "/networks/45.0.0.0/24?limit=100",
    "/asns/AS64500?days=7",
    "/countries/DE",
    "/compare?query=port%3A22&with=port%3A23",
    "/feeds?query=port%3A22",
    "/feeds/web-scanners",
    "/plans",
    "/search?query=tags%3Amirai",
    "/watches?kind=tag_rises&value=mirai",
    "/watches/4b0c54c8",
  ])
    expect([page, PAGES.test(page)]).toEqual([page, true]);
  for (const other of ["/docs", "/openapi.json", "/v3/ip/1.2.3.4", "/tags/a/b", "/networks/45.0.0.0"])
    expect([other, PAGES.test(other)]).toEqual([other, false]);
});
