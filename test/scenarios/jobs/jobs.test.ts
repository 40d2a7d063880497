// Jobs: instances that run one activity. The harness replays every history, so a job that the client and the worker wrote
// has the same events as one whose code ran.

import { expect } from "vitest";
import { job, orchestration, type ActivityContext } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const JOB_STORY = [
  "OrchestrationStarted",
  "ActivityScheduled",
  "ActivityCompleted",
  "OrchestrationCompleted",
];

const mail = job("mail", async (to: string) => `sent to ${to}`);

scenario("a job runs its activity once, and its result is the result of the activity", {
  register: [mail],
  run: async (t) => {
    const handle = await t.client.enqueue(mail, "ada", {
      attributes: { team: "blue" },
      priority: 2,
    });
    expect(await t.result(handle)).toBe("sent to ada");
    expect((await t.events(handle)).map(({ kind }) => kind)).toEqual(JOB_STORY);
    const found = await t.client.list({ name: "mail", attributes: { team: "blue" } });
    expect(found.items).toMatchObject([{ id: handle.id, status: "completed", priority: 2 }]);
  },
});

scenario("a job can be enqueued by name, with a delay, and with an id of the caller", {
  register: [mail],
  run: async (t) => {
    const named = await t.client.enqueue("mail", "bob");
    const later = await t.client.enqueue(mail, "carl", { delay: "5m", id: "later" });
    expect(await t.result(named)).toBe("sent to bob");
    expect(await later.describe()).toMatchObject({ id: "later", status: "pending" });
    await t.advance("5m");
    expect(await t.result(later)).toBe("sent to carl");
    for (const handle of [named, later]) {
      expect((await t.events(handle)).map(({ kind }) => kind)).toEqual(JOB_STORY);
    }
    await expect(t.client.enqueue(mail, "dora", { id: "later" })).rejects.toMatchObject({
      code: "INSTANCE_EXISTS",
    });
  },
});

scenario("a repeated request id enqueues one job", () => {
  const runs: string[] = [];
  const count = job("count", async (text: string) => void runs.push(text));
  return {
    register: [count],
    run: async (t) => {
      const first = await t.client.enqueue(count, "a", { requestId: "r" });
      const second = await t.client.enqueue(count, "a", { requestId: "r" });
      await t.result(first);
      const third = await t.client.enqueue(count, "a", { requestId: "r" });
      expect([second.id, third.id]).toEqual([first.id, first.id]);
      await t.settle();
      expect(runs).toEqual(["a"]);
    },
  };
});

scenario("a failed attempt is retried, and a job whose attempts are used up fails", () => {
  const attempts: number[] = [];
  const flaky = job(
    "flaky",
    async (fails: number, ctx: ActivityContext) => {
      attempts.push(ctx.attempt);
      if (ctx.attempt <= fails) throw new Error(`attempt ${ctx.attempt} failed`);
      return "done";
    },
    { retry: { maxAttempts: 3, backoff: { base: "1s" } } },
  );
  return {
    register: [flaky],
    run: async (t) => {
      const good = await t.client.enqueue(flaky, 2);
      await t.settle();
      await t.advance("1m");
      expect(await t.result(good)).toBe("done");
      expect(attempts).toEqual([1, 2, 3]);
      const bad = await t.client.enqueue(flaky, 9);
      await t.settle();
      await t.advance("1m");
      expect(await t.failure(bad)).toMatchObject({ message: "attempt 3 failed" });
      expect(await bad.describe()).toMatchObject({ status: "failed" });
    },
  };
});

scenario("a failed job can be restarted", () => {
  let isDown = true;
  const call = job("call", async () => {
    if (isDown) throw new Error("down");
    return "up";
  });
  return {
    register: [call],
    run: async (t) => {
      const handle = await t.client.enqueue(call);
      expect(await t.failure(handle)).toMatchObject({ message: "down" });
      isDown = false;
      await handle.restart();
      expect(await t.result(handle)).toBe("up");
      isDown = true;
    },
  };
});

scenario("a running job is cancelled: its activity is aborted", (t) => {
  const work = t.gate<string>("work");
  return {
    register: [work.activity],
    outdated: ["later"], // its code never ran, so a replay of its code does not reach its end
    run: async () => {
      const handle = await t.client.enqueue(work.activity, "a");
      await t.settle();
      expect(work.waiting).toEqual(["a"]);
      await handle.cancel("enough");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(work.aborts).toHaveLength(1);
      const later = await t.client.enqueue(work.activity, "b", { delay: "1h", id: "later" });
      await later.cancel("not needed");
      expect(await t.failure(later)).toMatchObject({ kind: "cancelled" });
      await t.advance("2h");
      expect(work.inputs).toEqual(["a"]);
    },
  };
});

scenario("a paused job keeps its outcome until it is resumed", (t) => {
  const work = t.gate<string, string>("work");
  return {
    register: [work.activity],
    run: async () => {
      const handle = await t.client.enqueue(work.activity, "a");
      await t.settle();
      await handle.pause("lunch");
      await work.finish("a", "done");
      expect(await handle.describe()).toMatchObject({ status: "paused" });
      await handle.resume();
      expect(await t.result(handle)).toBe("done");
    },
  };
});

scenario("a terminated job ends at once, and a late outcome changes nothing", (t) => {
  const work = t.gate<string, string>("work");
  return {
    register: [work.activity],
    run: async () => {
      const handle = await t.client.enqueue(work.activity, "a");
      await t.settle();
      await handle.terminate("no more");
      await work.finishVisit(0, "late");
      expect(await t.failure(handle)).toMatchObject({ kind: "terminated" });
    },
  };
});

scenario("an orchestration calls a job like any activity", () => {
  const main = orchestration("main", async (ctx) => ctx.run(mail, "eve", { key: "tenant" }));
  return {
    register: [mail, main],
    run: async (t) => {
      expect(await t.result(await t.client.start(main))).toBe("sent to eve");
    },
  };
});

scenario(
  "after a crash another process runs the job, and the first one cannot complete it",
  (t) => {
    const work = t.gate<string, string>("work");
    return {
      register: [work.activity],
      differs: { in: "times and logs", because: "takeovers are found by polls" },
      run: async () => {
        const handle = await t.client.enqueue(work.activity, "a");
        await t.settle();
        await t.crashAndRecover();
        expect(work.visits).toHaveLength(2);
        await work.finishVisit(1, "second");
        expect(await t.result(t.client.get(handle.id))).toBe("second");
      },
    };
  },
);

// Running so many jobs on every store would take long; test/faults/limits/sizes.test.ts does that.
scenario("many jobs are enqueued in chunks, and a repeated call adds nothing", () => {
  const work = job("work", async (n: number) => n);
  const items = Array.from({ length: 1_003 }, (_, index) => index);
  return {
    register: [],
    differs: { in: "everything", because: "1,003 histories are not compared one by one" },
    run: async (t) => {
      const ids = await t.client.enqueueMany(work, items, { requestId: "import" });
      expect(new Set(ids).size).toBe(items.length);
      expect(await t.client.enqueueMany(work, items, { requestId: "import" })).toEqual(ids);
      expect(await t.client.count({ name: "work", status: ["running"] })).toBe(items.length);
      const last = await t.client.get(ids.at(-1) ?? "").history();
      expect(last[0]).toMatchObject({ kind: "OrchestrationStarted", input: "1002" });
    },
  };
});
