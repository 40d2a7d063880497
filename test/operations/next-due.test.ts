// A lease call returns what is due, and the time at which the next item becomes due. An item that becomes due during
// the call must be in one of the two, or the runtime would find it only at its next poll.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { Provider } from "../../src/core/provider/index.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  fresh,
  newTask,
  registration,
  scheduledText,
  startItem,
  TARGETS,
  turnItem,
  VERSION,
} from "../../src/testing/conformance/fixture.ts";
import { postgres } from "../support/postgres.ts";
import { freshStore, newPlace, onlyOn } from "../support/test-store.ts";

const ROUNDS = 60;

async function storeWithRuntimes(): Promise<Provider> {
  const store = await freshStore();
  for (const id of [ALPHA, BETA]) await store.registerRuntime(registration({ id }));
  return store;
}

test("an instance that becomes due during a lease call is leased, or the answer holds its time", async () => {
  const store = await storeWithRuntimes();
  for (let round = 1; round <= ROUNDS; round += 1) {
    await store.commit([startItem({ id: `i-${round}`, delayMs: 1 + (round % 4) })]);
    for (;;) {
      const { instances, nextAt } = await store.leaseInstances({
        owner: BETA,
        token: fresh(),
        limit: 10,
        targets: TARGETS,
        allowSuspect: false,
        messagesMax: 10,
      });
      if (instances.length > 0) break;
      expect(nextAt, `round ${round}`).not.toBeNull();
    }
  }
});

test("a task that becomes due during a lease call is leased, or the answer holds its time", async () => {
  const store = await storeWithRuntimes();
  const token = fresh();
  const item = startItem({ id: "a", lease: { owner: ALPHA, token } });
  const [started] = await store.commit([item]);
  if (started?.kind !== "started" || started.leased === null) throw new Error("not started");
  const { key, execution, leased } = started;
  const held = { id: "a", runId: item.runId, key, execution, token, lastEvent: 0 };
  await store.commit([
    turnItem(held, {
      version: VERSION,
      events: [item.started, scheduledText()],
      consumed: [leased.id],
      tasks: [newTask({ sequence: 2 })],
    }),
  ]);
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (;;) {
      const { tasks, nextAt } = await store.leaseTasks({
        owner: BETA,
        token: fresh(),
        limit: 10,
        names: [CHARGE],
        tags: "any",
        sessions: null,
        allowSuspect: true,
      });
      const [task] = tasks;
      if (task !== undefined) {
        await store.commit([{ kind: "retry", task, delayMs: 1 + (round % 4), failure: "{}" }]);
        break;
      }
      expect(nextAt, `round ${round}`).not.toBeNull();
    }
  }
});

onlyOn("postgres", "SQLite has one writer, so a lease waits for the lock and skips no row", () => {
  test("an instance or task that is due but locked has a time at which to search again", async () => {
    const place = newPlace("memory");
    onTestFinished(() => place.remove());
    const store = await place.open();
    onTestFinished(() => store.close());
    for (const id of [ALPHA, BETA]) await store.registerRuntime(registration({ id }));
    const lock = new pg.Client({ connectionString: (await postgres()).url });
    await lock.connect();
    onTestFinished(() => lock.end());
    const whileLocked = async <T>(table: string, call: () => Promise<T>): Promise<T> => {
      await lock.query(`BEGIN; SELECT 1 FROM ${place.location}.${table} FOR UPDATE`);
      const result = await call();
      await lock.query("ROLLBACK");
      return result;
    };

    const item = startItem({ id: "a" });
    await store.commit([item]);
    const leaseInstances = () =>
      store.leaseInstances({
        owner: ALPHA,
        token: fresh(),
        limit: 10,
        targets: TARGETS,
        allowSuspect: false,
        messagesMax: 10,
      });
    const missed = await whileLocked("instances", leaseInstances);
    expect(missed.instances).toEqual([]);
    expect(missed.nextAt).toBeLessThan(store.now() + 1_000);
    const [instance] = (await leaseInstances()).instances;
    if (instance === undefined) throw new Error("not leased");

    await store.commit([
      turnItem(instance, {
        version: VERSION,
        events: [item.started, scheduledText()],
        consumed: instance.messages.map(({ id }) => id),
        tasks: [newTask({ sequence: 2 })],
      }),
    ]);
    const leaseTasks = () =>
      store.leaseTasks({
        owner: BETA,
        token: fresh(),
        limit: 10,
        names: [CHARGE],
        tags: "any",
        sessions: null,
        allowSuspect: true,
      });
    const missedTask = await whileLocked("tasks", leaseTasks);
    expect(missedTask.tasks).toEqual([]);
    expect(missedTask.nextAt).toBeLessThan(store.now() + 1_000);
    expect((await leaseTasks()).tasks).toHaveLength(1);
  });
});
