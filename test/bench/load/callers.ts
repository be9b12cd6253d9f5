import { type Random, seeded } from "../../support/builders/random.ts";
import { type Connection, openConnection } from "./connection.ts";
import { answerSchema, type LoadResult, type Order, orderSchema } from "./protocol.ts";

/** Callers in a process of their own: the process that measures must not wait for its own requests. */
process.on("message", (message) => {
  void play(orderSchema.parse(message)).then(answer, (error: unknown) => answer({ error: String(error) }));
});

function answer(message: unknown): void {
  process.send?.(answerSchema.parse(message));
}

/**
 * Polls the connections without sleeping: the system call that sends an answer would also wake a process that sleeps,
 * and the slower of two services would pay for more wake-ups.
 * @returns a function that ends it.
 */
function stayAwake(): () => void {
  let isAwake = true;
  const turn = () => {
    if (isAwake) setImmediate(turn);
  };
  turn();
  return () => {
    isAwake = false;
  };
}

async function play(order: Order): Promise<LoadResult> {
  const requests = order.requests.map((text) => Buffer.from(text, "latin1"));
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const opening = Array.from({ length: order.connections }, () => openConnection(order.port));
  const connections = await Promise.all(opening);
  const rest = stayAwake();
  const start = performance.now();
  const end = start + order.seconds * 1_000;
  const call = async (connection: Connection, random: Random) => {
    // At least once, however slow the machine is at the moment.
    for (let asked = start; times.length === 0 || asked < end; ) {
      const status = await connection.ask(random.pick(requests));
      const answered = performance.now();
      times.push(answered - asked);
      statuses[status] = (statuses[status] ?? 0) + 1;
      asked = answered;
    }
    connection.close();
  };
  await Promise.all(connections.map((connection, index) => call(connection, seeded(order.seed + index))));
  const seconds = (performance.now() - start) / 1_000;
  rest();
  const sorted = Float64Array.from(times).sort();
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return { perSecond: sorted.length / seconds, p50: at(0.5), p99: at(0.99), statuses };
}
