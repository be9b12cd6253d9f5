// A sensor: publishes what it saw to Kafka, then asks what is known of the address.
//   KAFKA_BROKERS=localhost:9092 node examples/sensor.mjs 192.175.48.6
import { setTimeout as pause } from "node:timers/promises";
import { Kafka, Partitioners } from "kafkajs";

const { KAFKA_BROKERS = "localhost:9092", KAFKA_TOPIC = "scan.observations" } = process.env;
const { NOISEFLOOR_URL = "http://localhost:8080" } = process.env;
const [address = "192.175.48.6"] = process.argv.slice(2);

const kafka = new Kafka({ clientId: "my-sensor", brokers: KAFKA_BROKERS.split(",") });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
await producer.connect();
const seen = { observed_at: new Date(), sensor_id: "my-sensor", source_ip: address, destination_port: 22 };
await producer.send({ topic: KAFKA_TOPIC, messages: [{ key: address, value: JSON.stringify(seen) }] });
await producer.disconnect();

const ask = () => fetch(`${NOISEFLOOR_URL}/v3/community/${address}`);
let response = await ask();
for (; response.status === 404; response = await ask()) await pause(500);
console.log(await response.text());
