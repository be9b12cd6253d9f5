import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readTime } from "../times.ts";
import { readSyslogHead } from "./syslog.ts";

const NOW = Date.parse("2026-12-01T09:00:00Z");
const PACKET = "IN=eth0 OUT= SRC=45.83.64.9 DST=198.51.100.7 LEN=40 PROTO=TCP SPT=5 DPT=23 WINDOW=1 SYN ";
const MESSAGES = [`kernel: ${PACKET}`, `kernel: [1.2] [UFW BLOCK] ${PACKET}`, `kernel[-]: DROP ${PACKET}`];

/** Each spelling of a line's head at a moment in UTC. A host in it is called host-5. */
const SPELLINGS: readonly (readonly [name: string, head: (time: Time) => string])[] = [
  ["syslog, day padded with a blank", (at) => `${at.month} ${at.day.padStart(2)} ${at.clock} host-5`],
  ["syslog, day padded with a zero", (at) => `${at.month} ${at.day.padStart(2, "0")} ${at.clock} host-5`],
  ["syslog, day not padded", (at) => `${at.month} ${at.day} ${at.clock} host-5`],
  ["syslog with fractions", (at) => `${at.month} ${at.day.padStart(2)} ${at.clock}.123456 host-5`],
  ["syslog with the year before the clock", (at) => `${at.month} ${at.day.padStart(2)} 2026 ${at.clock} host-5`],
  ["syslog with the year after the clock", (at) => `${at.month} ${at.day.padStart(2)} ${at.clock} 2026 host-5`],
  ["syslog with the year first", (at) => `2026 ${at.month} ${at.day.padStart(2)} ${at.clock} host-5`],
  ["syslog over a network", (at) => `<4>${at.month} ${at.day.padStart(2)} ${at.clock} host-5`],
  ["syslog over TCP", (at) => `212 <4>${at.month} ${at.day.padStart(2)} ${at.clock} host-5`],
  ["BusyBox", (at) => `${at.month} ${at.day.padStart(2)} ${at.clock} host-5 kern.warn`],
  ["after a relay's time", (at) => `${at.date}T${at.clock}Z ${at.month} ${at.day.padStart(2)} ${at.clock} host-5`],
  ["rsyslog", (at) => `${at.date}T${at.clock}.123456+00:00 host-5`],
  ["journalctl -o short-iso", (at) => `${at.date}T${at.clock}+0000 host-5`],
  ["journalctl -o short-full", (at) => `${at.weekday} ${at.date} ${at.clock} UTC host-5`],
  ["journalctl -o short-unix", (at) => `${at.seconds}.123456 host-5`],
  ["DShield", (at) => `${at.seconds} host-5`],
  ["date and time", (at) => `${at.date} ${at.clock} host-5`],
];
const WITHOUT_HOST: typeof SPELLINGS = [
  ["journalctl --no-hostname", (at) => `${at.month} ${at.day.padStart(2)} ${at.clock}`],
  ["dmesg -T", (at) => `[${at.weekday} ${at.month} ${at.day.padStart(2)} ${at.clock} 2026]`],
  ["dmesg --time-format iso", (at) => `${at.date}T${at.clock},123456+00:00`],
  ["dmesg -xT", (at) => `kern  :warn  : [${at.weekday} ${at.month} ${at.day.padStart(2)} ${at.clock} 2026]`],
  ["OpenWrt", (at) => `${at.weekday} ${at.month} ${at.day.padStart(2)} ${at.clock} 2026 kern.warn`],
  [
    "OpenWrt -t",
    (at) => `${at.weekday} ${at.month} ${at.day.padStart(2)} ${at.clock} 2026 [${at.seconds}.1] kern.warn`,
  ],
  ["Proxmox", (at) => `101 6 tap101i0-IN ${at.day.padStart(2, "0")}/${at.month}/2026:${at.clock} +0000 policy DROP:`],
];

type Time = ReturnType<typeof spell>;

function spell(moment: number) {
  const [weekday = "", , month = ""] = new Date(moment).toUTCString().replace(",", "").split(" ");
  const iso = new Date(moment).toISOString();
  const [date, clock, day] = [iso.slice(0, 10), iso.slice(11, 19), String(new Date(moment).getUTCDate())];
  return { weekday, month, date, clock, day, seconds: moment / 1_000 };
}

const secondsOf = (time: unknown) => Math.floor(Date.parse(String(readTime(time, { now: () => NOW }).time)) / 1_000);

const everyDay = Array.from({ length: 30 }, (_, index) => Date.parse("2026-11-01T07:08:09Z") + index * 86_400_000);

describe.each(SPELLINGS)("%s", (_name, head) => {
  test("names its host and its time on every day of a month", () => {
    for (const moment of everyDay) {
      for (const message of MESSAGES) {
        const line = `${head(spell(moment))} ${message}`;
        const { time, host, end } = readSyslogHead(line);
        expect([host, secondsOf(time), line.slice(end)]).toEqual(["host-5", moment / 1_000, message]);
      }
    }
  });
});

describe.each(WITHOUT_HOST)("%s", (_name, head) => {
  test("names no host, and its time on every day of a month", () => {
    for (const moment of everyDay) {
      const { time, host } = readSyslogHead(`${head(spell(moment))} ${MESSAGES[0]}`);
      expect([host, secondsOf(time)]).toEqual([undefined, moment / 1_000]);
    }
  });
});

test.each([
  ["<4>1 2026-11-27T13:00:00.5Z host-5 kernel - - - DROP", "2026-11-27T13:00:00.5Z", "host-5"],
  ["<30>1 2026-11-27T13:00:00+01:00 h.example app 12 ID47 - DROP", "2026-11-27T13:00:00+01:00", "h.example"],
  ['<4>1 2026-11-27T13:00:00Z h k - - [a@1 x="]\\"" y="z"][b@2] DROP', "2026-11-27T13:00:00Z", "h"],
  ["<4>1 - - kernel - - - DROP", undefined, undefined],
  ["97 <4>1 2026-11-27T13:00:00Z 192.0.2.1 kernel - - - DROP", "2026-11-27T13:00:00Z", "192.0.2.1"],
])("of RFC 5424, %j has its time, host and message", (line, time, host) => {
  const head = readSyslogHead(line);
  expect(head).toMatchObject({ time, host });
  expect(line.slice(head.end)).toBe("DROP");
});

test("a line that begins with seconds since the start of the kernel has no time and no host", () => {
  for (const start of ["[12345.678901] ", "<4>[    1.2] ", "kern  :warn  : [    1.2] "]) {
    expect(readSyslogHead(`${start}DROP ${PACKET}`)).toMatchObject({ time: undefined, host: undefined });
  }
});

test("no word of a packet or of a time is taken for the host", () => {
  for (const rest of [
    PACKET,
    `[UFW BLOCK] ${PACKET}`,
    `DROP: ${PACKET}`,
    `kernel: ${PACKET}`,
    "27 13:00:00 x",
    "13:00:00 x",
  ]) {
    expect(readSyslogHead(`Nov 27 13:00:00 ${rest}`).host).toBeUndefined();
  }
});

test("any text has a head, if an empty one", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(readSyslogHead(text).end).toBeLessThanOrEqual(text.length);
    }),
  );
});
