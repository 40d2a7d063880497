// Takeover from a process that died, and from a process that was frozen or blocked (P8, P9).

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { RuntimeOptions } from "../../../src/index.ts";
import type { WorkerProcess } from "./fleet.ts";
import { everythingBy, HELD, Scene } from "./takeover-scene.ts";

const STALE_MS = 1_500;
const STALL_MS = 500;
const QUICK: RuntimeOptions = { beatMs: 100, staleMs: STALE_MS, pollIntervalMs: 100 };
/** After a pause A must send a heartbeat within this time, also on a busy machine. */
const LONGER_STALE_MS = 2_500;
/** No worker goes stale during the test: a takeover happens only when the process is known to be dead. */
const PATIENT: RuntimeOptions = { staleMs: 600_000 };

test("a running worker takes over from a killed process at once", async () => {
  await using scene = await Scene.set();
  const a = await scene.enter("A", PATIENT);
  await scene.begin(a);
  const b = await scene.enter("B", PATIENT);
  b.say("open");
  await scene.beginSleep(a);

  await a.kill();
  await scene.handle("waits").raise("go");
  expect(await scene.results()).toEqual(everythingBy("B")); // long before A would go stale

  const runs = scene.begun().filter(({ instance }) => instance === "activity-0");
  expect(runs.map(({ pid, attempt }) => [pid, attempt])).toEqual([
    [a.pid, 1],
    [b.pid, 2],
  ]);
  await scene.expectSound();
});

const STANDSTILLS = [
  {
    how: "is frozen by SIGSTOP",
    begin: (scene: Scene, a: WorkerProcess) => scene.stopBetweenWrites(a),
    end: (a: WorkerProcess) => a.resume(),
  },
  // The loop is blocked in both cases. Here the process still runs, and its liveness thread stops the heartbeats.
  { how: "blocks its event loop", begin: () => undefined, end: () => undefined },
];

test.each(STANDSTILLS)(
  "a process that $how loses its work to another worker, and writes nothing afterwards",
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

    // B has begun everything again, but has recorded nothing: only the fencing token distinguishes A's turns from B's.
    // A finishes its turns before its event loop runs and it learns of the takeover.
    scene.unblock();
    standstill.end(a);
    await scene.until("A has finished it all", () => scene.endedBy(a).length === HELD.length);
    await scene.until(
      "A has logged the takeover",
      () => scene.loggedBy(a, "declared dead").length > 0,
    );
    a.say("start after 0"); // its write is queued behind all earlier writes of A
    await scene.until("A writes again", () => scene.isAcknowledged("after"));
    expect(await scene.histories()).toEqual(before);

    b.say("open");
    const done = await scene.results();
    for (const id of HELD) expect(done[id]).toMatchObject(["B", expect.any(String)]);
    await scene.result("after");
    expect(scene.loggedBy(b, "took over")).toHaveLength(1);
    await scene.expectSound();
  },
);

test("two processes that were frozen at the same time do not take over from each other", async () => {
  await using scene = await Scene.set();
  const options = { ...QUICK, staleMs: LONGER_STALE_MS };
  const a = await scene.enter("A", options);
  await scene.begin(a);
  const b = await scene.enter("B", options);
  await scene.beginSleep(a);
  await pause(LONGER_STALE_MS); // both have sent heartbeats for long enough to be allowed to take over

  await scene.stopBetweenWrites(a);
  await scene.stopBetweenWrites(b);
  await pause(LONGER_STALE_MS * 1.1);
  const last = await scene.lastHeartbeat(b);
  b.resume();
  // For B, A has missed heartbeats for longer than the stale time, but so has B itself.
  await scene.until("B sends heartbeats", async () => (await scene.lastHeartbeat(b)) > last + 200);
  a.resume();
  a.say("open");
  b.say("open");
  await scene.handle("waits").raise("go");
  expect(await scene.results()).toEqual(everythingBy("A"));
  expect([...scene.loggedBy(a, "took over"), ...scene.loggedBy(b, "took over")]).toEqual([]);
  await scene.expectSound();
});

/** A renewed lease ends later than a drive waits for work. */
const ENDING: RuntimeOptions = { instanceLeaseMs: 2_400, taskLeaseMs: 2_400 };
const DRIVE = "drive 120000";

test("a function that is frozen in mid-drive loses its work to another drive, and writes nothing when it thaws", async () => {
  await using scene = await Scene.set();
  const a = await scene.enter("A", ENDING, "drives");
  await scene.begin(a, DRIVE);
  const b = await scene.enter("B", ENDING, "drives");
  await scene.beginSleep(a);

  await scene.block(a);
  await scene.stopBetweenWrites(a);
  await scene.handle("waits").raise("go");
  b.say("drive on"); // A's leases end by themselves, and `nextAt` is that time
  await scene.until("B has begun it all", () => scene.begunBy(b).length === HELD.length);
  expect(await scene.result("waits")).toBe("B");
  expect(await scene.result("sleeps")).toBe("B");
  const before = await scene.histories();

  // B has begun everything again, but has recorded nothing: only the fencing token distinguishes A's turns from B's.
  scene.unblock();
  a.resume();
  await scene.until("A has finished it all", () => scene.endedBy(a).length === HELD.length);
  await scene.until("A's drive is over", () => scene.isAcknowledged("driven"));
  expect(await scene.histories()).toEqual(before);

  b.say("open");
  const done = await scene.results();
  for (const id of HELD) expect(done[id]).toEqual(["B", "B"]);
  await scene.expectSound();
});

test("a function that is killed in mid-drive loses its work to the next drive", async () => {
  await using scene = await Scene.set();
  const a = await scene.enter("A", {}, "drives");
  await scene.begin(a, DRIVE);
  const b = await scene.enter("B", {}, "drives");
  b.say("open");
  await scene.beginSleep(a);

  await a.kill();
  await scene.handle("waits").raise("go");
  b.say("drive on");
  expect(await scene.results()).toEqual(everythingBy("B"));
  await scene.expectSound();
});
