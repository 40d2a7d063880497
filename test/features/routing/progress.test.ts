// Progress of an activity, visible to clients that watch its instance.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  orchestration,
  threads,
  type Handle,
  type InstanceInfo,
  type TaskHeartbeat,
} from "../../../src/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import type { World } from "../../scenarios/support/world.ts";
import { newPlace } from "../../support/test-store.ts";
import { memoryStore, startRuntime } from "../../faults/trouble/support.ts";
import { reports } from "./threads/activities.ts";

/** Records the progress written to the store, one list per call. */
function watchWrites(t: World): TaskHeartbeat[][] {
  const calls: TaskHeartbeat[][] = [];
  const { store } = t;
  const write = store.heartbeatTasks.bind(store);
  store.heartbeatTasks = (beats) => {
    calls.push(beats.filter(({ progress }) => progress !== undefined));
    return write(beats);
  };
  return calls;
}

const progressOf = (info: InstanceInfo): readonly unknown[] =>
  info.waitingFor.flatMap((wait) =>
    wait.kind === "activity" && "progress" in wait ? [wait.progress] : [],
  );

scenario("waitingFor shows the progress of an activity as a value until the call ends", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(["a", "b"].map((input) => ctx.run(work.activity, input))),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(progressOf(await handle.describe())).toEqual([]);
      const { progress } = work.visits[0]?.context ?? { progress: () => undefined };
      progress({ done: 1, at: new Date(5) }); // destructured
      await t.advance("1s");
      expect((await handle.describe()).waitingFor).toMatchObject([
        { kind: "activity", name: "work", progress: { done: 1, at: new Date(5) } },
        { kind: "activity", name: "work" },
      ]);
      expect(progressOf(await handle.describe())).toHaveLength(1);
      await work.finish("a", "done");
      expect(progressOf(await handle.describe())).toEqual([]);
      await work.finish("b", "done");
    },
  };
});

scenario("watch reports progress as it arrives", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      const seen: unknown[] = [];
      const watching = (async () => {
        for await (const info of handle.watch()) seen.push(progressOf(info)[0] ?? info.status);
      })();
      await t.settle();
      for (const percent of [10, 20, 30]) {
        work.visits[0]?.context.progress(percent);
        await t.advance(400); // shorter than the poll interval of the watcher
      }
      work.visits[0]?.context.progress(30); // an unchanged value is not reported again
      await t.advance(400);
      expect(seen).toEqual(["running", 10, 20, 30]);
      await work.finish("x", "done");
      await watching;
      expect(seen.at(-1)).toBe("completed");
    },
  };
});

scenario(
  "progress is written at most four times per second, and the last value is always written",
  (t) => {
    const work = t.gate<string, string>("work");
    const main = orchestration("main", (ctx) =>
      ctx.all(["a", "b"].map((input) => ctx.run(work.activity, input))),
    );
    return {
      register: [work.activity, main],
      run: async () => {
        const calls = watchWrites(t);
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        for (let i = 0; i < 300; i++) {
          for (const { context } of work.visits) context.progress(i);
          await t.advance(10);
        }
        await t.advance(250);
        expect(calls.length).toBeGreaterThanOrEqual(12);
        expect(calls.length).toBeLessThanOrEqual(14);
        expect(progressOf(await handle.describe())).toEqual([299, 299]);
        for (const input of ["a", "b"]) await work.finish(input, input);
        await t.advance("1m");
        expect(calls.length).toBeLessThanOrEqual(14);
      },
    };
  },
);

scenario("progress counts as a heartbeat", (t) => {
  const work = t.gate<string, string>("work", { heartbeatTimeout: "10s" });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      for (let i = 0; i < 5; i++) {
        await t.advance("9s");
        work.visits[0]?.context.progress(i);
      }
      expect(work.waiting).toEqual(["x"]);
      await t.advance("11s");
      expect(work.aborts).toMatchObject([{ code: "TIMEOUT" }]);
    },
  };
});

scenario("progress survives its attempt, and progress and heartbeat details are separate", (t) => {
  const work = t.gate<string, string>("work", { attempts: 3 });
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      work.visits[0]?.context.progress("half");
      work.visits[0]?.context.heartbeat("row 7");
      await t.advance("2s");
      await work.fail("x", new Error("once"));
      await t.advance("1s");
      expect(progressOf(await handle.describe())).toEqual(["half"]);
      expect(work.visits[1]?.context.lastHeartbeat).toBe("row 7");
      work.visits[1]?.context.progress(undefined);
      work.visits[0]?.context.progress("late"); // from an ended attempt
      await t.advance("1s");
      expect(progressOf(await handle.describe())).toEqual([undefined]);
      await work.finish("x", "done");
    },
  };
});

scenario("pending progress is written when the runtime shuts down", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "x"));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (const percent of [1, 2, 3]) {
        work.visits[0]?.context.progress(percent);
        await t.settle();
      }
      await t.stop();
      expect(progressOf(await handle.describe())).toEqual([3]);
      await t.boot();
      await work.finishVisit(1, "done");
    },
  };
});

scenario("progress that cannot be serialized is refused at the call", () => {
  const work = activity("work", (_: undefined, { progress }) => {
    expect(() => progress(() => 1)).toThrow(
      expect.objectContaining({ code: "VALUE_NOT_SERIALIZABLE" }),
    );
    return "continued";
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  return {
    register: [work, main],
    run: async (t) => {
      await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(t.client.get("i"))).toBe("continued");
    },
  };
});

/** Watches until the instance shows this progress. */
async function sees(handle: Handle, wanted: unknown): Promise<void> {
  for await (const info of handle.watch()) {
    if (JSON.stringify(progressOf(info)[0]) === JSON.stringify(wanted)) return;
  }
  throw new Error("the instance ended without this progress");
}

test("a watcher with another connection to the store sees the progress", async () => {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const open = async () => {
    const provider = await place.open();
    onTestFinished(() => provider.close());
    return { provider, client: new Client(provider) };
  };
  const here = await open();
  const there = await open();
  const reporter = Promise.withResolvers<(value: unknown) => void>();
  const work = activity("work", (_: undefined, { progress, signal }) => {
    reporter.resolve(progress);
    return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  await startRuntime(here.provider, [main, work]);
  const handle = await here.client.start(main, undefined, { id: "i" });
  const progress = await reporter.promise;
  for (const percent of [10, 50]) {
    const seen = sees(there.client.get("i"), percent);
    progress(percent);
    await seen;
  }
  await handle.cancel();
});

test("a thread whose event loop never turns still reports its progress", async () => {
  const { provider, client } = await memoryStore();
  const executor = threads({
    module: new URL("./threads/activities.ts", import.meta.url),
    size: 1,
  });
  const main = orchestration("main", (ctx) => ctx.run(reports, 100_000));
  await startRuntime(provider, [main, reports], { executor });
  const handle = await client.start(main, undefined, { id: "i" });
  await sees(handle, { step: 100_000 });
  await handle.cancel();
});
