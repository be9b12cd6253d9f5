import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ACTOR_NETWORK,
  type Marked,
  makeMarked,
  makeScopes,
  onlyIn,
  SERVICE_NETWORK,
  toWire,
} from "../../support/builders/marked-observations.ts";
import { networkList } from "../../support/builders/network-list.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import type { Known, Service } from "../../support/oracle/address-oracle.ts";
import { rfc3339 } from "../../support/oracle/oracle.ts";
import { makeQuestion, OPERATIONS } from "../../support/oracle/visibility-questions.ts";
import type { Asker } from "../../support/oracle/visibility-rules.ts";
import type { Operation, Question } from "../../support/oracle/visibility-setting.ts";
import { atVolume } from "../../support/volume.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const SEEDS = atVolume([1], [1, 2]);
const QUESTIONS_PER_OPERATION = atVolume(1, 13);
const MAX_TRIES = 1_000;
const OBSERVATIONS = atVolume(600, 1_000);
const ASKED_AT_A_TIME = 6;
/** Workspaces whose names resemble each other or a dataset; the last one has no key. */
const WORKSPACES = ["acme", "acme-2", "acm", "ACME", "community", "dormant"];
const SCOPES = makeScopes(WORKSPACES);
const TAGS = [
  ...INTENTIONS.map((intention, index) =>
    makeTag(`everywhere-${index}`, intention, { cves: [`CVE-2026-000${index}`] }),
  ),
  ...SCOPES.map((scope) =>
    makeTag(onlyIn(scope), INTENTIONS[3 - (scope.number % 4)] ?? "unknown", { cves: [`CVE-2026-100${scope.number}`] }),
  ),
];
const SERVICE: Service = {
  category: "public_dns",
  name: "Some DNS",
  description: "Resolvers.",
  explanation: "They resolve.",
  last_updated: rfc3339(NOW),
  reference: "https://example.org",
  trust_level: "2",
};

const everything = (seen: readonly Marked[]): Known => ({
  seen,
  tags: TAGS,
  serviceOf: (ip) => (ip.startsWith("45.1.0.") ? SERVICE : undefined),
  actorOf: (ip) => (ip.startsWith("45.2.0.") ? "Census" : undefined),
});

async function addNetworks(world: World): Promise<void> {
  const { name, category, description, explanation, reference, trust_level: trustLevel } = SERVICE;
  const more = { name, category, description, explanation, reference, trustLevel };
  await world.replaceNetworks("service", [networkList("dns", [SERVICE_NETWORK], more)]);
  await world.replaceNetworks("actor", [networkList("census", [ACTOR_NETWORK], { name: "Census" })]);
}

async function addAskers(world: World): Promise<Asker[]> {
  const withKey = async (workspaceId: string, plan: string, reach: number, isEntitled: boolean): Promise<Asker> => {
    const key = await world.addCaller(plan, isEntitled ? ["community_dataset"] : [], workspaceId);
    return { name: workspaceId, key, isKnown: true, workspaceId, isEntitled, reach };
  };
  return [
    { name: "nobody", key: undefined, isKnown: true, isEntitled: false, reach: 1 },
    { name: "an empty key", key: "", isKnown: true, isEntitled: false, reach: 1 },
    { name: "a made-up key", key: "acme", isKnown: false, isEntitled: false, reach: 1 },
    await withKey("acme", "unlimited", 90, true),
    await withKey("acme-2", "standard", 30, true),
    await withKey("acm", "unlimited", 90, false),
    await withKey("ACME", "community", 10, true),
    await withKey("community", "a-plan-that-is-gone", 1, true),
    // Sees global and community like every caller, and has no observations of its own.
    await withKey("newcomer", "unlimited", 90, true),
  ];
}

/** In random order and batches, a third of them twice. */
async function deliver(world: World, observations: readonly Marked[], random: Random): Promise<void> {
  const queue = random.shuffle([...observations, ...observations.filter(() => random.chance(0.3))]);
  while (queue.length > 0) {
    const { rejected } = await world.store(queue.splice(0, random.int(1, 700)).map(toWire));
    expect(rejected).toEqual([]);
  }
}

const expectedOf = (question: Question, known: Known) =>
  question.answer({ ...known, seen: known.seen.filter(question.sees) });

/** Whether a caller who sees everything would get another answer: only then a leak shows. */
const canLeak = (question: Question, known: Known) =>
  JSON.stringify(expectedOf(question, known)) !== JSON.stringify(question.answer(known));

describe.each(SEEDS)("random scopes, seed %i", (seed) => {
  const random = seeded(seed);
  let world: World;
  let observations: Marked[];
  let askers: Asker[];

  beforeAll(async () => {
    world = await createWorld(() => NOW);
    await world.addTags(TAGS);
    await addNetworks(world);
    askers = await addAskers(world);
    observations = makeMarked(random, { scopes: SCOPES, tags: TAGS, count: OBSERVATIONS, now: NOW });
    await deliver(world, observations, random);
  });
  afterAll(() => world.close());

  async function ask(question: Question, number: number) {
    const { statusCode, body } = await world.app.inject({
      method: question.payload === undefined ? "GET" : "POST",
      url: question.url,
      headers: question.asker.key === undefined ? {} : { key: question.asker.key },
      ...(question.payload === undefined ? {} : { payload: question.payload }),
      // All callers get the same address, as limits per address are not tested here.
      remoteAddress: `100.64.${number >> 8}.${number & 255}`,
    });
    return { statusCode, text: body };
  }

  const randomQuestion = (operation: Operation) =>
    makeQuestion(operation, { random, asker: random.pick(askers), tags: TAGS, now: NOW });

  function findQuestion(operations: readonly Operation[], isWanted: (question: Question) => boolean): Question {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const question = randomQuestion(random.pick(operations));
      if (isWanted(question)) return question;
    }
    throw new Error(`none of ${MAX_TRIES} questions was wanted: ${isWanted}`);
  }

  /** Random questions may miss it: in two answers of each operation a leak would show, and each error occurs. */
  function makeQuestions(known: Known): Question[] {
    const showing = OPERATIONS.filter(({ showsObservations }) => showsObservations);
    return [
      ...Array.from({ length: QUESTIONS_PER_OPERATION }, () => OPERATIONS.map(randomQuestion)).flat(),
      ...[...showing, ...showing].map((operation) => findQuestion([operation], (question) => canLeak(question, known))),
      ...[400, 401, 403, 404].map((status) =>
        findQuestion(OPERATIONS, (question) => expectedOf(question, known).status === status),
      ),
    ];
  }

  test("no answer shows or counts what its caller may not see, and none leaves out what they may", async () => {
    const known = everything(observations);
    const questions = random.shuffle(makeQuestions(known));
    while (questions.length > 0) {
      const batch = questions.splice(0, ASKED_AT_A_TIME);
      const answers = await Promise.all(batch.map((question, index) => ask(question, questions.length + index)));
      for (const [index, question] of batch.entries()) {
        const { statusCode, text } = answers[index] ?? { statusCode: 0, text: "" };
        const what = `${question.asker.name} asks ${question.url} ${JSON.stringify(question.payload ?? "")}`;
        const hidden = SCOPES.filter((scope) => !question.sees({ ip: "", at: 0, tagIds: [], ...scope }));
        for (const scope of hidden)
          expect(text, `${what}, and its answer contains ${JSON.stringify(scope)}`).not.toContain(scope.mark);

        const expected = expectedOf(question, known);
        expect({ status: statusCode, body: JSON.parse(text) }, what).toEqual(expected);
      }
    }
  });
});
