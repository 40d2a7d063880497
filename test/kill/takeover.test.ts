// Taking over from a process that died, and from one that only stood still (P8, P9).

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { RuntimeOptions } from "../../src/index.ts";
import type { WorkerProcess } from "./fleet.ts";
import { everythingBy, HELD, Scene } from "./takeover-scene.ts";

const STALE_MS = 1_500;
const STALL_MS = 500;
const QUICK: RuntimeOptions = { beatMs: 100, staleMs: STALE_MS, pollIntervalMs: 100 };
/** Nobody is stale before the test is long over: only certainty lets anybody take over. */
const PATIENT: RuntimeOptions = { staleMs: 600_000 };
const AT_ONCE_MS = 8_000;

test("a killed process is replaced at once by one that runs", async () => {
  await using scene = await Scene.set();
  const a = await scene.enter("A", PATIENT);
  await scene.begin(a);
  const b = await scene.enter("B", PATIENT);
  b.say("open");
  await scene.beginSleep(a);

  const killedAt = performance.now();
  await a.kill();
  await scene.handle("waits").raise("go");
  expect(await scene.results()).toEqual(everythingBy("B"));
  const tookMs = performance.now() - killedAt;
  console.log(`taken over and done ${Math.round(tookMs)} ms after the kill`);
  expect(tookMs).toBeLessThan(AT_ONCE_MS);

  const runs = scene.begun().filter(({ instance }) => instance === "activity-0");
  expect(runs.map(({ pid, attempt }) => [pid, attempt])).toEqual([
    [a.pid, 1],
    [b.pid, 2],
  ]);
  await scene.expectSound();
});

const STANDSTILLS = [
  {
    how: "was stopped",
    begin: (scene: Scene, a: WorkerProcess) => scene.stopBetweenWrites(a),
    end: (a: WorkerProcess) => a.resume(),
  },
  // Its loop is blocked in both cases; here that is all, and its heart is the one to fall silent.
  { how: "hangs in its own code", begin: () => undefined, end: () => undefined },
];

test.each(STANDSTILLS)(
  "a process that $how is replaced, and writes nothing afterwards",
  async (standstill) => {
    await using scene = await Scene.set();
    const a = await scene.enter("A", { ...QUICK, stallMs: STALL_MS });
    await scene.begin(a);
    const b = await scene.enter("B", QUICK);
    await scene.beginSleep(a);

    await scene.block(a);
    await standstill.begin(scene, a);
    await scene.handle("waits").raise("go");
    await scene.until("B has begun it all", () => scene.begunBy(b).length === HELD.length);
    expect(await scene.result("waits")).toBe("B");
    expect(await scene.result("sleeps")).toBe("B");
    const before = await scene.histories();

    // B has begun everything anew and recorded nothing of it: only the token tells A's turns from B's. And A has
    // them ready before its loop turns and it learns that it was replaced.
    scene.unblock();
    standstill.end(a);
    await scene.until("A has finished it all", () => scene.endedBy(a).length === HELD.length);
    await scene.until("A knows of it", () => scene.saidBy(a, "declared dead").length > 0);
    a.say("start after 0"); // is written after all that A had to write before
    await scene.until("A writes again", () => scene.isAcknowledged("after"));
    expect(await scene.histories()).toEqual(before);

    b.say("open");
    const done = await scene.results();
    for (const id of HELD) expect(done[id]).toMatchObject(["B", expect.any(String)]);
    await scene.result("after");
    expect(scene.saidBy(b, "took over")).toHaveLength(1);
    await scene.expectSound();
  },
);

test("two processes that stood still together do not rob each other", async () => {
  await using scene = await Scene.set();
  const a = await scene.enter("A", QUICK);
  await scene.begin(a);
  const b = await scene.enter("B", QUICK);
  await scene.beginSleep(a);
  await pause(STALE_MS); // both have been steady for long enough to be allowed to take over

  await scene.stopBetweenWrites(a);
  await scene.stopBetweenWrites(b);
  await pause(STALE_MS * 1.5);
  b.resume();
  await pause(STALE_MS / 2); // to B, A has been silent for two stale times; but then so has B
  a.resume();
  a.say("open");
  b.say("open");
  await scene.handle("waits").raise("go");
  expect(await scene.results()).toEqual(everythingBy("A"));
  expect([...scene.saidBy(a, "took over"), ...scene.saidBy(b, "took over")]).toEqual([]);
  await scene.expectSound();
});
