import { Readable } from "node:stream";
import { validateObservation } from "@noisefloor/domain/observation/observation.ts";
import { describe, expect, test } from "vitest";
import { PLAIN, readContent } from "../../../../test/support/ingest/decode.ts";
import type { FileRecord } from "../format.ts";
import { readRecordsOf } from "../read-file.ts";
import { marx } from "./marx.ts";

const HEADER = "datetime,host,src,proto,type,spt,dpt";
const ROW = "2013-03-03 21:53:00,groucho-oregon,1032051418,TCP,,6000,1433";
const VALIDATION = { now: Date.parse("2013-03-04T00:00:00Z"), retentionDays: 100, right: "everything" } as const;

/** The rows of a file: what follows its header. */
async function readRows(content: string | Buffer | readonly Buffer[]): Promise<FileRecord[]> {
  return (await readContent(content, "marx")).filter(({ ignored }) => ignored !== "header");
}

const read = (...lines: string[]) => readRows(lines.join("\n"));

async function observationOf(row: string): Promise<unknown> {
  const [record] = await read(HEADER, row);
  return record?.value;
}

/** Why the observation of a row is rejected, or "accepted". */
async function outcomeOf(row: string): Promise<string> {
  const accepted = validateObservation(await observationOf(row), VALIDATION);
  return "reason" in accepted ? accepted.reason : "accepted";
}

describe("a row of a marx log", () => {
  test("becomes an observation: an integer is its address, its time is UTC", async () => {
    expect(await observationOf(ROW)).toEqual({
      observation_id: expect.stringMatching(/^raw:[0-9a-f]{32}$/),
      observed_at: "2013-03-03T21:53:00Z",
      sensor_id: "groucho-oregon",
      source_ip: "61.131.218.218",
      transport: "tcp",
      source_port: 6000,
      destination_port: 1433,
    });
    expect(await outcomeOf(ROW)).toBe("accepted");
  });

  test("of ICMP has a type instead of ports", async () => {
    const row = "2013-03-03 21:55:00,zeppo-norcal,3714286530,ICMP,8,,";
    expect(await observationOf(row)).toEqual({
      observation_id: expect.stringMatching(/^raw:[0-9a-f]{32}$/),
      observed_at: "2013-03-03T21:55:00Z",
      sensor_id: "zeppo-norcal",
      source_ip: "221.99.131.194",
      transport: "icmp",
      metadata: { icmp_type: 8 },
    });
    expect(await outcomeOf(row)).toBe("accepted");
  });

  test("may be of UDP", async () => {
    expect(await observationOf(ROW.replace("TCP", "UDP").replace("1433", "5060"))).toMatchObject({
      transport: "udp",
    });
  });

  test("may have more columns than ours, in any order", async () => {
    const [record] = await read(
      "cc,dpt,spt,type,proto,src,host,datetime",
      "CN,1433,6000,,TCP,1032051418,h,2013-03-03 21:53:00",
    );
    expect(record?.value).toMatchObject({ source_ip: "61.131.218.218", destination_port: 1433, sensor_id: "h" });
  });
});

describe("addresses", () => {
  test.each([
    ["16777216", "1.0.0.0"],
    ["2147483648", "128.0.0.0"],
    ["4294967295", "255.255.255.255"],
  ])("%s is %s", async (written, address) => {
    expect(await observationOf(ROW.replace("1032051418", written))).toMatchObject({ source_ip: address });
  });

  test.each(["4294967296", "-1", "1.5", "0x3d83dada", "localhost"])(
    "%s is not one: it is passed on, so that the rejection shows it",
    async (written) => {
      const row = ROW.replace("1032051418", written);
      expect(await observationOf(row)).toMatchObject({ source_ip: written });
      expect(await outcomeOf(row)).toBe("source-not-routable");
    },
  );
});

describe("an invalid row", () => {
  test.each([
    ["too few columns", "2013-03-03 21:53:00,groucho-oregon", "source-not-routable"],
    ["no time", ROW.replace("2013-03-03 21:53:00", ""), "invalid-observation"],
    ["a time in another order", ROW.replace("2013-03-03", "03/03/2013"), "invalid-observation"],
    ["no host", ROW.replace("groucho-oregon", ""), "invalid-observation"],
    ["an unknown protocol", ROW.replace("TCP", "GRE"), "invalid-observation"],
    ["a port beyond 65535", ROW.replace("1433", "65536"), "invalid-observation"],
    ["a private source", ROW.replace("1032051418", "167772161"), "source-not-routable"],
    ["garbage", "garbage", "invalid-observation"],
  ])("with %s is rejected, and no other row", async (_, row, reason) => {
    expect(await outcomeOf(row)).toBe(reason);
    const records = await read(HEADER, ROW, row, ROW);
    expect(records.map(({ bytes }) => bytes.toString())).toEqual([ROW, row, ROW]);
    expect(records.map(({ value }) => "reason" in validateObservation(value, VALIDATION))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("is kept as it stands in the file, quotes, spaces and all", async () => {
    const odd = '2013-03-03 21:53:00, "groucho" ,1032051418,TCP,,6000,"1433",extra,,';
    const [record] = await read(HEADER, odd, ROW);
    expect(record?.bytes.toString()).toBe(odd);
  });
});

describe("a file", () => {
  test.each([[[]], [[""]], [[HEADER]], [[HEADER, ""]]])("of the lines %j has no records", async (lines) => {
    expect(await read(...lines)).toEqual([]);
  });

  test("may end its lines with LF, CRLF or now one and now the other", async () => {
    const expected = await read(HEADER, ROW, ROW, ROW);
    expect(expected.map(({ bytes }) => bytes.toString())).toEqual([ROW, ROW, ROW]);
    expect(await read(`${HEADER}\r`, `${ROW}\r`, `${ROW}\r`, `${ROW}\r`, "")).toEqual(expected);
    expect(await read(`${HEADER}\r`, ROW, ROW, ROW)).toEqual(expected);
    expect(await read(HEADER, `${ROW}\r`, ROW, `${ROW}\r`)).toEqual(expected);
  });

  test("may have blank lines, which belong to no record", async () => {
    const expected = await read(HEADER, ROW, ROW);
    expect(await read("", HEADER, "", ROW, "", "", ROW, "")).toEqual(expected);
    expect(await read("\r", `${HEADER}\r`, "\r", `${ROW}\r`, "\r", `${ROW}\r`, "")).toEqual(expected);
  });

  test("that is not UTF-8 keeps its bytes for the dead letter", async () => {
    const odd = Buffer.concat([Buffer.from(ROW.slice(0, 20)), Buffer.from([0xff, 0xfe]), Buffer.from(ROW.slice(20))]);
    const content = Buffer.concat([Buffer.from(`${HEADER}\n`), odd]);
    const records = await readRows(content);
    expect(records.map(({ bytes }) => bytes)).toEqual([odd]);
  });

  test("gives the same records however it is cut into chunks", async () => {
    const content = Buffer.from([HEADER, ROW, "garbage", ROW, ""].join("\n"));
    const whole = await read(HEADER, ROW, "garbage", ROW, "");
    for (const size of [1, 2, 7, 64]) {
      const chunks = Array.from({ length: Math.ceil(content.length / size) }, (_, index) =>
        content.subarray(index * size, (index + 1) * size),
      );
      expect(await readRows(chunks)).toEqual(whole);
    }
  });

  test("whose stream fails throws, instead of looking like a short one", async () => {
    const breaking = Readable.from(
      (function* () {
        yield Buffer.from(`${HEADER}\n${ROW}\n`);
        throw new Error("the disk is gone");
      })(),
    );
    const reading = async () => {
      for await (const _ of readRecordsOf(breaking, [marx], PLAIN));
    };
    await expect(reading()).rejects.toThrow("the disk is gone");
  });
});

describe("a file with something wrong in it is read to its end", () => {
  test("an unclosed quote makes only its own row invalid", async () => {
    const unclosed = ROW.replace("groucho-oregon", '"h');
    const records = await read(HEADER, unclosed, ROW);
    expect(records.map(({ bytes }) => bytes.toString())).toEqual([unclosed, ROW]);
    expect(records[0]).toMatchObject({ rejection: { detail: expect.stringContaining("quote is not closed") } });
    expect(records[1]?.value).toMatchObject({ sensor_id: "groucho-oregon" });
  });

  test("a byte order mark before the header does not belong to the first column's name", async () => {
    expect((await read(`\ufeff${HEADER}`, ROW))[0]?.value).toMatchObject({ observed_at: "2013-03-03T21:53:00Z" });
  });

  test.each(["http", "-1", "80.0", "12345678901"])("the port %s is rejected, not dropped", async (port) => {
    expect(await outcomeOf(ROW.replace("1433", port))).toBe("invalid-observation");
  });
});
