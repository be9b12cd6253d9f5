// Does the process answer? Every role of the image does so once its store is ready, so one check does for all of them.
// Plain JavaScript and no dependency: it starts every few seconds and must be cheap.
import { get } from "node:http";

const TIMEOUT_MS = 2_000;

const fail = (reason) => {
  console.error(`unhealthy: ${reason}`);
  process.exitCode = 1;
};
get({ host: "127.0.0.1", port: Number(process.env.HTTP_PORT || 8080), path: "/healthz", agent: false }, (answer) => {
  answer.resume();
  if (answer.statusCode !== 200) fail(`status ${answer.statusCode}`);
})
  .setTimeout(TIMEOUT_MS, function () {
    this.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`));
  })
  .once("error", (error) => fail(error.message));
