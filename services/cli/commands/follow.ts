import { createHash } from "node:crypto";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { lagOf } from "@noisefloor/clickhouse/intake/followed-files.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { AUTO } from "@noisefloor/ingest/formats/all.ts";
import type { FollowTarget } from "@noisefloor/ingest/sources/follow/files/targets.ts";
import { type Follower, startFollower } from "@noisefloor/ingest/sources/follow/follower.ts";
import { forwardPieces } from "@noisefloor/ingest/sources/follow/forward.ts";
import { positionFile } from "@noisefloor/ingest/sources/follow/position-file.ts";
import { startFollowIngest } from "@noisefloor/ingest/sources/follow/source.ts";
import { parseTargets } from "../follow-targets.ts";
import { readSensorFormats } from "../formats.ts";
import { type CloseStack, createCloseStack } from "../framework/close-stack.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { openFileSource } from "../rows/file-source.ts";
import { asCommand, openPreparedStore } from "../store/store.ts";

export const define: DefineCommand = (follow, createContext) => {
  follow
    .argument("<path...>", "files, globs in quotes, or folders; each may be [sensor=][format:]path")
    .option("--format <name>", "the format of records where the path names none", AUTO)
    .option("--sensor <id>", "the sensor of all records where the path names none")
    .option("--to <url>", "another intake; left out, INTAKE_URL, else the store or the topic of the settings")
    .option("--key <key>", "a sensor's key for it, instead of INTAKE_KEY")
    .addHelpText(
      "after",
      "\nIt goes on until Ctrl-C, and where it stopped when it is started again: positions are kept in DATA_DIR.",
    )
    .action(async (paths: string[], options: FollowOptions) => runFollow(paths, options, await createContext()));
};

type FollowOptions = {
  readonly format: string;
  readonly sensor?: string | undefined;
  readonly to?: string | undefined;
  readonly key?: string | undefined;
};

const REPORT_MS = 60_000;

/** `noisefloor follow`: stores what is written to files, as long as it runs. */
async function runFollow(paths: readonly string[], options: FollowOptions, context: CommandContext): Promise<void> {
  const { settings, signal, log } = context;
  const formats = readSensorFormats(settings);
  const texts = paths.map((path) => withDefaults(path, options));
  const targets = parseTargets("follow", texts, settings.clickhouse.dataDir, formats);
  const closeStack = createCloseStack();
  try {
    const follower = await open(targets, options, context, closeStack);
    closeStack.add(follower.stop);
    const report = async () => {
      const files = follower.files();
      const lag = files.reduce((sum, file) => sum + lagOf(file), 0);
      log.info({ files: files.length, lagBytes: lag }, `following: ${formatBytes(lag)} are not stored yet`);
    };
    await report();
    const { stop } = repeatEvery(report, {
      everyMs: REPORT_MS,
      onError: (error) => log.debug({ err: error }, "no report"),
    });
    closeStack.add(stop);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await closeStack.closeAll();
  }
}

async function open(
  targets: readonly FollowTarget[],
  options: FollowOptions,
  context: CommandContext,
  closeStack: CloseStack,
): Promise<Follower> {
  const { settings, signal, log } = context;
  const url = (options.to ?? settings.intake.url)?.replace(/\/+$/, "");
  if (url !== undefined && !/^https?:\/\/./.test(url)) {
    throw new UserError(`--to takes a URL like https://noisefloor.example.org:8443, not "${url}"`);
  }
  // Each destination has positions of its own.
  const name = createHash("sha256")
    .update(url ?? "")
    .digest("hex")
    .slice(0, 12);
  const positions = positionFile(join(resolve(settings.clickhouse.dataDir), `followed-${name}.json`), Date.now);
  if (url === undefined) {
    const store = await openPreparedStore(settings, asCommand(context, signal));
    closeStack.add(store.close);
    return startFollowIngest({
      ...(await openFileSource(store, context, closeStack, { name: "follow" })),
      targets,
      positions,
    });
  }
  const total = { accepted: 0, rejected: 0, ignored: 0 };
  closeStack.add(() => log.info(total, "stopped; what was read is stored there"));
  const store = forwardPieces({
    url,
    key: options.key ?? settings.intake.key,
    onCounts({ accepted, rejected, ignored }) {
      total.accepted += accepted;
      total.rejected += rejected;
      total.ignored += ignored;
    },
    signal,
    log,
  });
  return startFollower({ targets, positions, store, isForwarding: true, now: Date.now, log });
}

/** Fills in the options where the path itself says nothing. */
function withDefaults(path: string, { sensor, format }: FollowOptions): string {
  const [, ofPath, formatOfPath, rest = ""] = /^([^/=]{1,128}=)?([a-z0-9-]+:)?(.+)$/s.exec(path) ?? [];
  return `${ofPath ?? (sensor === undefined ? "" : `${sensor}=`)}${formatOfPath ?? `${format}:`}${rest}`;
}
