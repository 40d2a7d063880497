// Shields and compensations (semantics 19c).

import { expect } from "vitest";
import { activity, OrchestrationError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

/** An orchestration that runs each name of its plan with a compensation. "wait" sleeps; a name ending in "!" fails. */
function trip(log: string[]) {
  const act = activity("act", (name: string) => {
    log.push(name);
    if (name.endsWith("!")) throw new Error(`${name} failed`);
    return name;
  });
  const main = orchestration("trip", async (ctx, plan: readonly string[]) => {
    for (const name of plan) {
      if (name === "wait") {
        await ctx.sleep("1d");
        continue;
      }
      await ctx.run(act, name);
      ctx.compensate(() => ctx.run(act, `undo ${name}`));
    }
    return "arrived";
  });
  return { act, main };
}

scenario("a failure runs the compensations in reverse order", () => {
  const log: string[] = [];
  const { act, main } = trip(log);
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, ["flight", "hotel", "car!"], { id: "i" });
      expect(await t.failure(handle)).toMatchObject({ kind: "failed", message: "car! failed" });
      expect(log).toEqual(["flight", "hotel", "car!", "undo hotel", "undo flight"]);
    },
  };
});

scenario("a success runs no compensation", () => {
  const log: string[] = [];
  const { act, main } = trip(log);
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, ["flight", "hotel"], { id: "i" });
      expect(await t.result(handle)).toBe("arrived");
      expect(log).toEqual(["flight", "hotel"]);
    },
  };
});

scenario("a cancel runs the compensations behind a shield", () => {
  const log: string[] = [];
  const { act, main } = trip(log);
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, ["flight", "wait"], { id: "i" });
      await t.advance("1h");
      await handle.cancel("storm");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(log).toEqual(["flight", "undo flight"]);
    },
  };
});

scenario("terminate runs no compensation, because no code runs", () => {
  const log: string[] = [];
  const { act, main } = trip(log);
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, ["flight", "wait"], { id: "i" });
      await t.advance("1h");
      await handle.terminate("now");
      await t.advance("1d");
      expect(log).toEqual(["flight"]);
    },
  };
});

scenario("a failed compensation does not stop the others and is listed in the error", () => {
  const log: string[] = [];
  const act = activity("act", (name: string) => void log.push(name));
  const main = orchestration("main", async (ctx) => {
    ctx.compensate(() => ctx.run(act, "first"));
    ctx.compensate(() => {
      throw new TypeError("cannot undo");
    });
    ctx.compensate(async () => {
      await ctx.sleep("1m");
      await ctx.run(act, "last");
    });
    throw new Error("the reason");
  });
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      const error = await t.failure(handle);
      expect(error).toMatchObject({ message: "the reason" });
      expect(error instanceof OrchestrationError && Object.entries(error)).toContainEqual([
        "compensationErrors",
        [expect.any(TypeError)],
      ]);
      expect(log).toEqual(["last", "first"]);
    },
  };
});

scenario("open tasks are cancelled before the first compensation runs", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    ctx.compensate(() => ctx.run(work.activity, "undo"));
    void ctx.run(work.activity, "forgotten");
    await ctx.sleep("1s");
    throw new Error("stop");
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(work.waiting).toEqual(["undo"]);
      await work.finish("undo", null);
      expect(await t.failure(handle)).toMatchObject({ kind: "failed" });
      expect((await t.story(handle)).slice(4)).toEqual([
        "ActivityCancelRequested 2",
        "ActivityScheduled work",
        "ActivityCompleted 6",
        "OrchestrationFailed failed",
      ]);
    },
  };
});

scenario("compensations continue after a crash without repeating a completed one", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    for (const name of ["a", "b", "c"])
      ctx.compensate(() => ctx.run(work.activity, `undo ${name}`));
    throw new Error("stop");
  });
  return {
    register: [work.activity, main],
    run: async () => {
      await t.client.start(main, undefined, { id: "i" });
      await work.finish("undo c", null);
      await t.crashAndRecover();
      await work.finishVisit(2, null); // "undo b" was entered by both processes
      await work.finish("undo a", null);
      expect(await t.failure(t.client.get("i"))).toMatchObject({ message: "stop" });
      expect(work.inputs).toEqual(["undo c", "undo b", "undo b", "undo a"]);
    },
  };
});

scenario("a cancel does not interrupt running compensations", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    ctx.compensate(() => ctx.run(work.activity, "undo"));
    throw new Error("stop");
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("hurry");
      await t.settle();
      expect(work.waiting).toEqual(["undo"]);
      await work.finish("undo", null);
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
    },
  };
});

scenario("manual compensation: the code catches, undoes and continues", () => {
  const log: string[] = [];
  const act = activity("act", (name: string) => {
    log.push(name);
    if (name === "ship") throw new Error("no truck");
    return `${name} ok`;
  });
  const main = orchestration("main", async (ctx) => {
    const debit = await ctx.run(act, "debit");
    try {
      return await ctx.run(act, "ship");
    } catch {
      return [debit, await ctx.run(act, "refund")];
    }
  });
  return {
    register: [act, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(["debit ok", "refund ok"]);
      expect(log).toEqual(["debit", "ship", "refund"]);
    },
  };
});
