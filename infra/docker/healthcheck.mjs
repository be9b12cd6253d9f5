// Is somebody listening? Every role of the image listens once its store is ready, so one check does for all of them.
// Plain JavaScript and no dependency: it starts every few seconds and must be cheap.
import { connect } from "node:net";

const TIMEOUT_MS = 2_000;

const socket = connect({ host: "127.0.0.1", port: Number(process.env.HTTP_PORT || 8080) });
socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no connection within ${TIMEOUT_MS} ms`)));
socket.once("connect", () => socket.end());
socket.once("error", (error) => {
  console.error(`unhealthy: ${error.message}`);
  process.exitCode = 1;
});
