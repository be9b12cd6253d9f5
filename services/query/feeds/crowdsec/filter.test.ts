import { expect, test } from "vitest";
import { narrow, readFilter } from "./filter.ts";

const addresses = Uint32Array.of(0x0a000001, 0x0a000002, 0x0a0000ff, 0xffffffff);
const chosen = (query: Record<string, string>) => [...narrow(addresses, readFilter(query, "recent"))];
const [none, all] = [[], [...addresses]];

test("a parameter that narrows is honoured, in CrowdSec's spellings", () => {
  const cases: [Record<string, string>, number[]][] = [
    [{}, all],
    [{ scopes: "ip,range" }, all],
    [{ scope: "Ip" }, all],
    [{ scopes: "country" }, none],
    [{ scope: "Country", value: "FR" }, none],
    [{ scope: "" }, none],
    [{ type: "ban" }, all],
    [{ type: "captcha" }, none],
    [{ origins: "cscli, noisefloor" }, all],
    [{ origins: "capi" }, none],
    [{ scenarios_containing: "ssh,recent" }, all],
    [{ scenarios_containing: "ssh" }, none],
    [{ scenarios_not_containing: "rec" }, none],
    [{ scenarios_not_containing: "ssh" }, all],
    [{ ip: "10.0.0.2" }, [0x0a000002]],
    [{ ip: "::ffff:10.0.0.2" }, [0x0a000002]],
    [{ ip: "::FFFF:a00:2" }, [0x0a000002]],
    [{ ip: "10.0.0.3" }, none],
    [{ ip: "255.255.255.255" }, [0xffffffff]],
    [{ ip: "2001:db8::1" }, none],
    [{ ip: "10.0.0.2", scope: "country" }, none],
    [{ ip: "10.0.0.2", value: "10.0.0.1" }, none],
    [{ value: "10.0.0.1" }, [0x0a000001]],
    [{ value: "FR" }, none],
    [{ value: "" }, none],
    [{ range: "10.0.0.1/32" }, [0x0a000001]],
    [{ range: "10.0.0.1" }, [0x0a000001]],
    [{ range: "::ffff:10.0.0.1" }, [0x0a000001]],
    // A decision about one address contains no network, ...
    [{ range: "10.0.0.0/24" }, none],
    // ... and is within some.
    [{ range: "10.0.0.0/24", contains: "false" }, [0x0a000001, 0x0a000002, 0x0a0000ff]],
    [{ range: "::ffff:10.0.0.0/126", contains: "false" }, [0x0a000001, 0x0a000002]],
    [{ range: "0.0.0.0/0", contains: "false" }, all],
    [{ range: "2001:db8::/32" }, none],
  ];
  for (const [query, wanted] of cases) expect(chosen(query), JSON.stringify(query)).toEqual(wanted);
});

test("an address that is none is refused", () => {
  for (const query of [
    { ip: "" },
    { ip: "nonsense" },
    { range: "" },
    { range: "10.0.0.1/33" },
    { range: "::ffff:10.0.0.1/95" },
  ]) {
    expect(() => chosen(query), JSON.stringify(query)).toThrow(/Invalid parameter/);
  }
});
