import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { openProvingGround, openStage } from "../support/proving-ground.ts";

const ground = await openProvingGround();
const killBroker = () => {
  const pids = execFileSync("pgrep", ["-P", String(process.pid), "java"])
    .toString()
    .trim()
    .split("\n");
  console.log("java", pids);
  for (const pid of pids) process.kill(Number(pid), "SIGKILL");
};
try {
  const stage = await openStage(ground, 1, 3000);
  try {
    const ingest = await stage.ingest();
    await stage.publish(stage.events.slice(0, 1000)).done;
    await stage.drained();
    killBroker();
    console.log("broker away for 45 s");
    await sleep(45_000);
    console.log("surprise:", ingest.surprise()?.slice(-3000));
    await ground.broker.restart("SIGKILL");
    const back = Date.now();
    await stage.publish(stage.events.slice(1000)).done;
    try {
      await stage.drained();
      console.log("drained after", Date.now() - back, "ms");
    } catch (e) {
      console.log(String(e).slice(0, 3000));
    }
    console.log(
      ingest
        .log()
        .split("\n")
        .map((l) => {
          try {
            const j = JSON.parse(l);
            return `${j.time} ${j.level} ${j.msg} ${j.err?.message ?? j.error ?? ""}`;
          } catch {
            return l;
          }
        })
        .slice(-40)
        .join("\n"),
    );
    killBroker();
    await sleep(3000);
    console.log("SIGTERM without broker:", await ingest.terminate());
    await ground.broker.restart("SIGKILL");
  } finally {
    await stage.close();
  }
} finally {
  await ground.close();
}
