// A commit that writes a start with its first turn can fail, lose its answer, or kill its process. Nothing is lost,
// nothing runs twice, and the caller of the start gets a true answer (I13, I14).

import { expect, test } from "vitest";
import { activity, Client, orchestration, PerdureError } from "../../src/index.ts";
import { Stage } from "./first-turn-stage.ts";

/** Longer than the backoff of the committer. */
const LATER_MS = 120_000;

function programs() {
  const worked: number[] = [];
  const work = activity("work", (value: number) => {
    worked.push(value);
    return value * 2;
  });
  const working = orchestration("working", (ctx, value: number) => {
    ctx.log.info(`begins with ${value}`);
    return ctx.run(work, value);
  });
  const adding = orchestration("adding", async (_, value: number) => value + 1);
  return { worked, working, adding, register: [work, working, adding] };
}

/** A stage where both orchestrations may run early. */
async function open() {
  const its = programs();
  const stage = await Stage.open(its.register, { activityConcurrency: 1 });
  await stage.hasRun(stage.client.start(its.working, 1));
  await stage.hasRun(stage.client.start(its.adding, 1));
  return { ...its, stage };
}

const begun = ({ logs }: Stage): string[] => logs.filter((line) => line.startsWith("begins"));

test.for(["before", "after"] as const)(
  "a commit that fails %s it is written starts the instance once",
  async (when) => {
    const { stage, working, worked } = await open();
    stage.line.failNext("commit", { when });
    const starting = stage.client.start(working, 2, { id: "a" });
    await stage.environment.advance(LATER_MS);
    const handle = await starting;
    expect(await handle.result({ timeout: 0 })).toBe(4);
    const [start, ...others] = stage.startsOf("a");
    expect(start?.firstTurn).toBeDefined();
    expect(others).toEqual([]); // the store got the start once
    expect(worked).toEqual([1, 2]);
    expect(begun(stage)).toEqual(["begins with 1", "begins with 2"]);
    const history = await handle.history();
    expect(history.map(({ kind }) => kind)).toEqual([
      ...["OrchestrationStarted", "ActivityScheduled", "ActivityCompleted"],
      "OrchestrationCompleted",
    ]);
  },
);

test("if settle fails too, the start waits until the store answers", async () => {
  const { stage, working, worked } = await open();
  stage.line.failNext("commit", { when: "after" });
  stage.line.failNext("settle", { when: "before", times: 3 });
  const starting = stage.client.start(working, 2, { id: "a" });
  await stage.environment.advance(LATER_MS);
  expect(await (await starting).result({ timeout: 0 })).toBe(4);
  expect(worked).toEqual([1, 2]);
});

test.for(["before", "after"] as const)(
  "the result of an instance that ends in its first turn is right if its commit fails %s it is written",
  async (when) => {
    const { stage, adding } = await open();
    stage.line.failNext("commit", { when });
    const starting = stage.client.start(adding, 2, { id: "a" });
    await stage.environment.advance(LATER_MS);
    expect(await (await starting).result()).toBe(3);
    expect(await stage.store.readInstance("a")).toMatchObject({
      status: "completed",
      lastEvent: 2,
    });
  },
);

test("a start whose id was taken while its commit failed is refused, and leaves no trace", async () => {
  const { stage, working, worked } = await open();
  stage.line.failNext("commit", { when: "before" });
  const starting = stage.client.start(working, 2, { id: "a" }).catch((error: unknown) => error);
  await stage.environment.settle();
  await new Client(stage.store).start(working, 50, { id: "a" });
  await stage.environment.advance(LATER_MS);
  expect(await starting).toMatchObject({ code: "INSTANCE_EXISTS" });
  await stage.environment.advance(3_600_000); // the next poll: this runtime runs the other start
  expect(await stage.client.get("a").result({ timeout: 0 })).toBe(100);
  expect(worked).toEqual([1, 50]);
  expect(begun(stage)).toEqual(["begins with 1", "begins with 50"]);
});

test("a start that the store can never write rejects with its error and gives its slot back", async () => {
  const { stage, working, worked } = await open();
  stage.startError = new PerdureError("LIMIT_EXCEEDED", "too large");
  await expect(stage.client.start(working, 2, { id: "a" })).rejects.toBe(stage.startError);
  stage.startError = null;
  expect(await stage.store.readInstance("a")).toBeNull();
  const handle = await stage.client.start(working, 3);
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toBe(6);
  expect(worked).toEqual([1, 3]);
});

test("if the process dies before the commit, no trace of the instance is left", async () => {
  const { stage, working, worked, register } = await open();
  stage.line.dieInNextCommit("before");
  const answers = watch(stage.client.start(working, 2, { id: "a" }));
  await stage.environment.advance(LATER_MS);
  expect(answers).toEqual([]);
  expect(await stage.store.readInstance("a")).toBeNull();
  expect(worked).toEqual([1]);
  expect(begun(stage)).toEqual(["begins with 1"]);

  await stage.startRuntime(stage.store, register);
  const handle = await new Client(stage.store).start(working, 7, { id: "a" });
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toBe(14);
});

test("if the process dies after the commit, another process finishes the instance, and no activity runs twice", async () => {
  const { stage, working, worked, register } = await open();
  stage.line.dieInNextCommit("after");
  const answers = watch(stage.client.start(working, 2, { id: "a", requestId: "r" }));
  await stage.environment.settle();
  expect(answers).toEqual([]);
  expect(await stage.store.readInstance("a")).toMatchObject({ status: "running", lastEvent: 2 });
  expect(worked).toEqual([1]); // nothing leaves the process before the commit returns (I13)

  await stage.store.expireRuntime({ id: stage.runtime.id, staleMs: null });
  await stage.startRuntime(stage.store, register);
  await stage.environment.advance(LATER_MS);
  const again = await new Client(stage.store).start(working, 2, { id: "a", requestId: "r" });
  expect(await again.result({ timeout: 0 })).toBe(4);
  expect(worked).toEqual([1, 2]);
});

/** What the promise has settled with so far. */
function watch(promise: Promise<unknown>): unknown[] {
  const answers: unknown[] = [];
  const add = (answer: unknown): void => void answers.push(answer);
  promise.then(add, add);
  return answers;
}
