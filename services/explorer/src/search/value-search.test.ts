import { expect, test } from "vitest";
import { portPath, valuePath } from "./value-search.tsx";

const queryOf = (path: string) => new URL(path, "http://localhost").searchParams.get("query");

test("the search for a value finds that value, whatever is in it", () => {
  expect(queryOf(valuePath("tag", "mirai"))).toBe("tags:mirai");
  expect(queryOf(valuePath("path", '/a b"*?\\'))).toBe('path:"/a b\\"\\*?\\\\"');
  expect(queryOf(valuePath("sensor", "-x"))).toBe('sensor:"-x"');
  expect(queryOf(valuePath("ip", "45.0.0.0/24"))).toBe("ip:45.0.0.0/24");
});

test("a port is searched with its protocol, where that is known", () => {
  expect(queryOf(portPath(445, "tcp"))).toBe("port:445 protocol:tcp");
  expect(queryOf(portPath("22"))).toBe("port:22");
});
