import type { LogFormat } from "./format.ts";
import { observationsFormat } from "./observations.ts";
import { cowrie } from "./sensors/cowrie.ts";
import { dionaea } from "./sensors/dionaea.ts";
import { dockerApiHoneypot } from "./sensors/docker-api-honeypot.ts";
import { dshieldWeb } from "./sensors/dshield.ts";
import { heralding } from "./sensors/heralding.ts";
import { HONEYPOT_FORMATS, otherHoneypots } from "./sensors/honeypots/honeypots.ts";
import { honeypots } from "./sensors/honeypots.ts";
import { honeytrap } from "./sensors/honeytrap.ts";
import { hpfeeds } from "./sensors/hpfeeds/hpfeeds.ts";
import { marx } from "./sensors/marx.ts";
import { ecs } from "./sensors/monitors/ecs.ts";
import { netfilter } from "./sensors/monitors/netfilter.ts";
import { suricataEve } from "./sensors/monitors/suricata/suricata-eve.ts";
import { zeek } from "./sensors/monitors/zeek/zeek.ts";
import { opencanary } from "./sensors/opencanary.ts";
import { tpot } from "./sensors/tpot.ts";

/**
 * Every log format, in the order in which `auto` tries them: a record of T-Pot's has all that its honeypot's has, and
 * what marks it as T-Pot's.
 */
export const LOG_FORMATS: readonly LogFormat[] = [
  observationsFormat,
  tpot,
  cowrie,
  suricataEve,
  zeek,
  dionaea,
  heralding,
  honeytrap,
  opencanary,
  honeypots,
  dshieldWeb,
  netfilter,
  dockerApiHoneypot,
  hpfeeds,
  marx,
  otherHoneypots,
  ecs,
];

/** The name that stands for all formats: each record is decoded by the first that recognises it. */
export const AUTO = "auto";

/** The formats that a name stands for; undefined for an unknown name. */
export function findFormats(
  name: string,
  formats: readonly LogFormat[] = LOG_FORMATS,
): readonly LogFormat[] | undefined {
  if (name === AUTO) return formats;
  const found = [...formats, ...HONEYPOT_FORMATS].find((format) => format.name === name);
  return found === undefined ? undefined : [found];
}

/** @returns what finds the formats that a sender's name stands for, all for any other name: the same list each time. */
export function formatFinder(all: readonly LogFormat[]): (name: string | undefined) => readonly LogFormat[] {
  const named = new Map<string, readonly LogFormat[]>();
  return (name = AUTO) => {
    const found = named.get(name) ?? findFormats(name, all) ?? all;
    named.set(name, found);
    return found;
  };
}
