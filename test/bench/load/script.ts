import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A TypeScript file that runs in a process of its own and answers each message with one. */
export type Script = {
  ask(message: object): Promise<unknown>;
  close(): Promise<void>;
};

export function startScript(file: URL): Script {
  const child = fork(fileURLToPath(file), {
    execArgv: ["--import", "tsx/esm"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const ended = new Promise<void>((settle) => child.once("close", () => settle()));
  return {
    ask: (message) => askOnce(child, message),
    async close() {
      process.removeListener("exit", kill);
      kill();
      await ended;
    },
  };
}

function askOnce(child: ChildProcess, message: object): Promise<unknown> {
  return new Promise((settle, fail) => {
    const onEnd = () => fail(new Error("the process has ended"));
    child.once("close", onEnd);
    child.once("message", (answer) => {
      child.removeListener("close", onEnd);
      settle(answer);
    });
    child.send(message);
  });
}
