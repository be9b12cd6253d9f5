import { expect, test } from "vitest";
import { isListedHost } from "./listed-host.ts";

test("lists have hosts of intruders, and no name below which everybody has one", () => {
  const listed = ["45.9.148.7", "intruder.example", "intruder.co.uk", "intruder.github.io", "a-b.duckdns.org"];
  expect(listed.filter((host) => !isListedHost(host))).toEqual([]);
  const others = ["co.uk", "com.br", "github.io", "duckdns.org", "trycloudflare.com", "s3.amazonaws.com"];
  expect(others.filter(isListedHost)).toEqual([]);
});

test("lists have nothing that no name of DNS or routable address is", () => {
  const others = [
    "10.0.0.1",
    "printer.local",
    "a b.example",
    "a.example;rm",
    "-a.example",
    `${"a.".repeat(90)}example`,
  ];
  expect(others.filter(isListedHost)).toEqual([]);
});
