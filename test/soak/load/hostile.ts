import { type Agent, Agent as HttpAgent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { addressOf } from "./world.ts";

/** The only argument of the process of hostile callers. */
export type HostileOrder = {
  readonly port: number;
  readonly tagId: string;
  /** Some of them have a workspace's key and a sensor's key. */
  readonly key: string;
  readonly sensorKey: string;
  readonly seconds: number;
};

const [, , text = "{}"] = process.argv;
const order: HostileOrder = JSON.parse(text);
const end = Date.now() + order.seconds * 1_000;
const isOver = () => Date.now() > end;
const counts = new Map<string, number>();
const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);

const WORST_ACTIVITY = `/v3/tags/${order.tagId}/activity?days=90&granularity=1h&include_ips=true`;
const BODY = JSON.stringify({ ips: Array.from({ length: 10_000 }, (_, number) => addressOf(number * 19)) });

/** One of fifty addresses of this machine. */
function open(caller: number): Socket {
  const socket = connect({ host: "127.0.0.1", port: order.port, localAddress: `127.0.1.${caller + 1}` });
  socket.on("error", () => {});
  return socket;
}
const closed = (socket: Socket) => new Promise<void>((settle) => socket.once("close", () => settle()));
const keyField = (caller: number) => (caller % 5 === 0 ? `key: ${order.key}\r\n` : "");
const get = (path: string, caller: number) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${keyField(caller)}\r\n`;

/** Hundreds of pipelined requests on each connection, repeated when it is cut. */
async function pipeline(caller: number): Promise<void> {
  const depths = [400, 90, 20];
  for (let round = caller; !isOver(); round++) {
    const socket = open(caller);
    socket.on("data", (data: Buffer) => {
      const status = /^HTTP\/1.1 (\d+)/.exec(data.subarray(0, 20).toString("latin1"))?.[1];
      if (status !== undefined) count(`pipelined ${status}`);
    });
    socket.write(get(WORST_ACTIVITY, caller).repeat(depths[round % depths.length] ?? 1));
    await Promise.race([closed(socket), sleep(5_000)]);
    socket.destroy();
  }
}

function post(caller: number, agent: Agent): Promise<void> {
  return new Promise((settle) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(BODY),
      ...(caller % 5 === 0 ? { key: order.key } : {}),
    };
    const options = { host: "127.0.0.1", port: order.port, method: "POST", path: "/v3/ip", headers, agent };
    const asked = request({ ...options, localAddress: `127.0.1.${caller + 1}` }, (response) => {
      count(`POST ${response.statusCode}`);
      response.resume().once("close", settle);
    });
    asked.on("error", () => settle());
    asked.end(BODY);
  });
}

/** Requests for as many addresses as fit, one after the other, on a few connections. */
async function askInBulk(caller: number): Promise<void> {
  const agent = new HttpAgent({ keepAlive: true });
  const loop = async () => {
    while (!isOver()) await post(caller, agent);
  };
  await Promise.all([loop(), loop(), loop()]);
  agent.destroy();
}

/** Requests the largest answers and reads nothing of them, or a little now and then. */
async function readSlowly(caller: number): Promise<void> {
  const one = async (trickles: boolean) => {
    while (!isOver()) {
      const socket = open(caller);
      socket.pause();
      socket.write(
        caller % 2 === 0
          ? get(WORST_ACTIVITY, caller)
          : `POST /v3/ip HTTP/1.1\r\nHost: localhost\r\n${keyField(caller)}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
      );
      const gone = closed(socket).then(() => count("slow reader cut"));
      const timer = setInterval(() => trickles && socket.read(512), 500);
      while (!isOver() && !socket.destroyed) await Promise.race([gone, sleep(500)]);
      clearInterval(timer);
      socket.destroy();
    }
  };
  await Promise.all([one(false), one(false), one(true), one(false)]);
}

/** Announces the largest body that the intake accepts, sends most of it and then nothing. */
async function stallSending(caller: number): Promise<void> {
  const one = async () => {
    while (!isOver()) {
      const socket = open(caller);
      const gone = closed(socket).then(() => count("stalled sender cut"));
      socket.resume();
      socket.write(
        `POST /v1/observations HTTP/1.1\r\nHost: localhost\r\nkey: ${order.sensorKey}\r\nContent-Length: ${32 * 1024 * 1024}\r\n\r\n`,
      );
      socket.write(Buffer.alloc(31 * 1024 * 1024, " "));
      while (!isOver() && !socket.destroyed) await Promise.race([gone, sleep(500)]);
      socket.destroy();
    }
  };
  await Promise.all([one(), one()]);
}

const MALFORMED = [
  "nonsense\r\n\r\n",
  "GET / HT",
  "GET /v3/tags HTTP/1.1\r\n\r\n",
  `GET /v3/tags HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "POST /v3/ip HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz",
  "",
];

/** Connections with malformed bytes, one after the other. */
async function sendNonsense(caller: number): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const socket = open(caller);
    socket.resume();
    socket.write(MALFORMED[round % MALFORMED.length] ?? "", "latin1");
    await Promise.race([closed(socket), sleep(20)]);
    socket.destroy();
    count("malformed");
    await sleep(50);
  }
}

const KINDS = [
  { behave: pipeline, callers: 14 },
  { behave: askInBulk, callers: 14 },
  { behave: readSlowly, callers: 10 },
  { behave: stallSending, callers: 6 },
  { behave: sendNonsense, callers: 6 },
];
const behaviours = KINDS.flatMap(({ behave, callers }) => Array.from({ length: callers }, () => behave));
await Promise.all(behaviours.map((behave, caller) => behave(caller)));
console.log(JSON.stringify(Object.fromEntries(counts)));
process.exit();
