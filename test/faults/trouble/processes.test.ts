// Code that ends its process or blocks it forever: other workers continue, and the culprit is found and blocked
// (semantics 9a, 13, P9).

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { RuntimeOptions } from "../../../src/index.ts";
import { runProgram, type Program } from "./child.ts";
import {
  bystander,
  endless,
  hogging,
  hotLoop,
  killer,
  neighbour,
  waiting,
} from "./programs/jobs.ts";
import { fileStore, until } from "./support.ts";

const IMPATIENT: RuntimeOptions = {
  beatMs: 100,
  staleMs: 1_000,
  stallMs: 1_000,
  pollIntervalMs: 100,
};

describe("a turn with endless microtasks", () => {
  test("is named in the log, its neighbours are taken over and complete, and after repeated stalls it is blocked", async () => {
    const { path, client } = await fileStore();
    const work = () => runProgram("worker", path, JSON.stringify(IMPATIENT));
    const workers = [work()];
    await workers[0]?.says("ready");
    const culprit = await client.start(endless, undefined, { id: "the culprit" });
    const neighbours = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        client.start(neighbour, `${n}`, { id: `neighbour ${n}` }),
      ),
    );
    await until("all wait in the first worker", async () => {
      const infos = await Promise.all([culprit, ...neighbours].map((one) => one.describe()));
      return infos.every(({ waitingFor }) => waitingFor.length === 1);
    });
    workers.push(work());
    await workers[1]?.says("ready");

    await culprit.raise("spin");
    const [first] = workers;
    await first?.says("spinning");
    await first?.warns("the event loop has been blocked");
    expect(first?.stderr()).toMatch(/blocked for \d+ ms in the culprit; .* stops its heartbeats/);

    // The first process still lives; the supervisor below replaces the processes that stall after it.
    const results = Promise.all(
      neighbours.map(async (one) => {
        await one.raise("go");
        return one.result();
      }),
    );
    const stalls = await superviseUntil(workers, work, async () => {
      return (await culprit.describe()).blocked !== undefined;
    });
    expect(await culprit.describe()).toMatchObject({
      status: "running",
      blocked: {
        code: "QUARANTINE",
        message: expect.stringContaining("Find the cause, then unblock the instance"),
      },
    });
    expect(await results).toEqual(neighbours.map((_, n) => `hello ${n}`));
    // It stalled once while cached, then a few times after fresh leases, and never again.
    expect(stalls).toBeGreaterThanOrEqual(3);
    expect(stalls).toBeLessThanOrEqual(5);
    expect(saidByAny(workers, "stopped sending heartbeats; took over")).toBe(true);
    await culprit.terminate("it will not end by itself");
    await expect(culprit.result()).rejects.toMatchObject({ code: "TERMINATED" });
  });

  test("is not blamed when an activity blocks the event loop: the log names the activity", async () => {
    const { path, client } = await fileStore();
    const worker = runProgram("worker", path, JSON.stringify(IMPATIENT));
    await worker.says("ready");
    const innocent = await client.start(neighbour, "innocent", { id: "innocent" });
    await innocent.raise("go");
    await innocent.result();
    const handle = await client.start(hogging, 2_500, { id: "hogging" });
    await worker.warns("the event loop has been blocked");
    expect(worker.stderr()).toContain('in activity "hog" of hogging; ');
    // No other worker could take over, so the activity finishes where it was.
    expect(await handle.result()).toBe("done");
  });
});

describe("an activity that ends its own process", () => {
  test.each(["exit", "SIGKILL"] as const)(
    "by %s becomes poison after its third counted death; its fifty bystanders all complete",
    async (how) => {
      const { path, client } = await fileStore();
      const options: RuntimeOptions = { attemptsMax: 3, beatMs: 200, stallMs: 20_000 };
      const bystanders = await Promise.all(
        Array.from({ length: 50 }, (_, n) => client.start(bystander, n, { id: `bystander ${n}` })),
      );
      const culprit = await client.start(killer, { how, bystanders: 50 }, { id: "killer" });
      const endings: (number | NodeJS.Signals)[] = [];
      const attempts: unknown[] = [];
      const done = Promise.all([culprit, ...bystanders].map((one) => one.result()));
      let finished = false;
      void done.then(() => (finished = true));
      while (!finished) {
        const worker = runProgram("worker", path, JSON.stringify(options));
        const end = await Promise.race([worker.ended, done]);
        attempts.push(
          ...worker.said.filter(({ what }) => what === "killing").map((s) => s["attempt"]),
        );
        if (typeof end === "object") worker.kill("SIGTERM");
        else endings.push(end);
        if (endings.length > 5) throw new Error("the killer is not poisoned after five deaths");
      }
      // The second death may happen while bystanders run again; then it does not count for any of them.
      expect([3, 4]).toContain(endings.length);
      expect(new Set(endings)).toEqual(new Set([how === "exit" ? 7 : "SIGKILL"]));
      expect([...new Set(attempts)]).toEqual([1, 2, 3]);
      const [failure, ...others] = await done;
      expect(failure).toMatchObject({
        code: "ACTIVITY_FAILED",
        kind: "poison",
        attempts: 3,
        message: expect.stringMatching(/^poison: activity kill#2 exceeded 3 attempts \(max 3\)/),
      });
      // For a bystander the first death counts, and one in a group of at most 16 suspects (decision 0057).
      for (const attempt of others) expect([2, 3]).toContain(attempt);
      expect(others.filter((attempt) => attempt === 3).length).toBeLessThan(16);
    },
  );
});

test("a process that was suspended logs it, and blames no activity", async () => {
  const { path, client, provider } = await fileStore();
  // Between two heartbeats the liveness thread sleeps. A process that is stopped during a heartbeat cannot tell
  // whether its thread was stopped too, so the heartbeats are rare, and the stop comes between two of them.
  const options: RuntimeOptions = { beatMs: 2_000, staleMs: 60_000, pollIntervalMs: 100 };
  const worker = runProgram("worker", path, JSON.stringify(options));
  await worker.says("ready");
  await client.start(waiting, undefined, { id: "w" });
  await worker.says("waiting");
  await until("its liveness thread runs", async () => {
    const [runtime] = await provider.listRuntimes();
    return runtime !== undefined && runtime.beatAt > runtime.startedAt;
  });
  await pause(500);
  worker.kill("SIGSTOP");
  await until("it has been stopped for longer than two heartbeats", async () => {
    const [runtime] = await provider.listRuntimes();
    return runtime !== undefined && provider.now() - runtime.beatAt > 6_000;
  });
  worker.kill("SIGCONT");
  await until("it logs the suspension", () => saidByAny([worker], "was stopped or suspended for"));
  await until("it sends heartbeats again", async () => {
    const [runtime] = await provider.listRuntimes();
    return runtime !== undefined && provider.now() - runtime.beatAt < 1_000;
  });
  expect(saidByAny([worker], "probably in")).toBe(false);
  expect(worker.stderr()).not.toContain("the event loop");
});

describe("a hot loop", () => {
  test("is cancelled from another process", async () => {
    const { path, client } = await fileStore();
    const worker = runProgram("worker", path);
    await worker.says("ready");
    const handles = await Promise.all(
      Array.from({ length: 10 }, (_, n) => client.start(hotLoop, undefined, { id: `loop ${n}` })),
    );
    await until(
      "all loop",
      () => worker.said.filter(({ what }) => what === "looping").length >= 10,
    );
    await Promise.all(handles.map((handle) => handle.cancel("enough")));
    const ends = await Promise.allSettled(handles.map((handle) => handle.result()));
    for (const end of ends) {
      expect(end).toMatchObject({ status: "rejected", reason: { code: "CANCELLED" } });
    }
  });
});

/** Replaces workers that stall or end, until the condition holds. Returns the number of stalls. */
async function superviseUntil(
  workers: Program[],
  replace: () => Program,
  condition: () => Promise<boolean>,
): Promise<number> {
  const stalled = new Set<Program>();
  const buried = new Set<Program>();
  await until("the culprit is blocked", async () => {
    for (const worker of [...workers]) {
      if (stalled.has(worker) || !worker.stderr().includes("has been blocked for")) continue;
      stalled.add(worker);
      workers.push(replace());
      // The first worker stays, so that others must notice its missing heartbeats; the others are killed at once.
      if (stalled.size === 1) continue;
      worker.kill("SIGKILL");
      buried.add(worker);
    }
    return condition();
  });
  return stalled.size;
}

function saidByAny(workers: readonly Program[], text: string): boolean {
  return workers.some(({ said }) => said.some(({ message }) => String(message).includes(text)));
}
