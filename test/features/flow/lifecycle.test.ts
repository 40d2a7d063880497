// Clients start, inspect, control and end a flow like any orchestration (semantics 27).

import { expect } from "vitest";
import { activity, event, orchestration } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";

const approval = event<{ readonly by: string }>("approval");

scenario("describe shows the open nodes of a flow with signals, times and retries (T10)", (t) => {
  const gate = t.gate<string, string>("gate", {
    retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "5s" } },
  });
  const pending = flow<string>("pending")
    .fork({
      work: (f) => f.then("work", gate.activity),
      wait: (f) => f.waitFor(approval, { timeout: "2d" }),
      rest: (f) => f.delay("rest", "1h"),
    })
    .build();
  return {
    register: [pending],
    run: async () => {
      const handle = await t.client.start(pending, "x", { id: "i" });
      const began = t.now();
      await gate.fail("x", new Error("out of paper"));
      const { status, waitingFor, version } = await handle.describe();
      expect({ status, version }).toEqual({ status: "running", version: pending.version });
      const due = (ms: number) => new Date(began + ms);
      expect(waitingFor).toMatchObject([
        {
          kind: "activity",
          node: "fork.work/work",
          name: "gate",
          attempt: 2,
          lastError: "out of paper",
          availableAt: due(5_000),
        },
        { kind: "event", node: "fork.wait/approval", name: "approval" },
        { kind: "timer", node: "fork.wait/approval", due: due(2 * 86_400_000) },
        { kind: "timer", node: "fork.rest/rest", due: due(3_600_000) },
      ]);
      expect(await handle.node("rest").describe()).toMatchObject({
        kind: "timer",
        status: "running",
      });
      expect(await handle.node("fork").describe()).toBeUndefined();
      await t.advance("5s");
      await gate.finish("x", "printed");
      expect(await handle.node("fork.work/work").result()).toBe("printed");
      await handle.raise(approval, { by: "ada" });
      await t.advance("1h");
      expect(await t.result(handle)).toEqual({ work: "printed", wait: { by: "ada" }, rest: "x" });
    },
  };
});

scenario("a signal's timeout fails the flow, or the flow continues with null (T12, T16)", () => {
  const strict = flow("strict").waitFor(approval, { timeout: "1h" }).build();
  const lenient = flow("lenient")
    .waitFor("answer", approval, { timeout: "1h", onTimeout: "continue" })
    .then("report", (answer) => ({ answer }))
    .build();
  return {
    register: [strict, lenient],
    run: async (t) => {
      const one = await t.client.start(strict, undefined, { id: "strict" });
      const two = await t.client.start(lenient, undefined, { id: "lenient" });
      await t.advance("59m");
      expect((await one.describe()).status).toBe("running");
      await t.advance("1m");
      expect(await t.failure(one)).toMatchObject({
        message: 'The wait for signal "approval" at "approval" timed out.',
        cause: { code: "TIMEOUT", node: "approval" },
      });
      expect(await t.result(two)).toEqual({ answer: null });
      expect(await two.node("answer").result()).toBeNull();
    },
  };
});

scenario(
  "signals sent before the start, during a pause and between waits are kept in order, each once (T13, T40)",
  () => {
    const two = flow("two")
      .waitFor("first", approval)
      .then("between", ({ by }) => by)
      .fork({ a: (f) => f.waitFor("second", approval) })
      .then("all", ({ a }) => a.by)
      .build();
    return {
      register: [two],
      run: async (t) => {
        await t.client.raise("i", "approval", { by: "one" }, { ifMissing: "keep", requestId: "1" });
        await t.client.raise("i", "approval", { by: "one" }, { ifMissing: "keep", requestId: "1" });
        const handle = await t.client.start(two, undefined, { id: "i" });
        await t.settle();
        await handle.pause({ reason: "lunch", by: "ada" });
        await handle.raise(approval, { by: "two" });
        await handle.raise(approval, { by: "three" });
        await t.advance("1h");
        expect(await handle.describe()).toMatchObject({
          status: "paused",
          paused: { reason: "lunch", by: "ada" },
          waitingFor: [{ node: "fork.a/second", name: "approval" }],
        });
        await handle.resume();
        expect(await t.result(handle)).toBe("two");
        expect(await handle.node("first").result()).toEqual({ by: "one" });
        expect((await handle.unread()).items).toEqual([
          { name: "approval", data: { by: "three" } },
        ]);
      },
    };
  },
);

scenario(
  "a paused flow lets running steps end and keeps their results until resume (T10, T22)",
  (t) => {
    const gate = t.gate<number, number>("gate");
    const paused = flow<number>("paused")
      .then("a", gate.activity)
      .then("b", (n) => n + 1)
      .build();
    return {
      register: [paused],
      run: async () => {
        const handle = await t.client.start(paused, 1, { id: "i" });
        await t.settle();
        await handle.pause("later");
        await gate.finish(1, 10);
        await t.advance("1h");
        expect((await handle.describe()).status).toBe("paused");
        await handle.resume();
        expect(await t.result(handle)).toBe(11);
        // A pause that is resumed before anything happens has no effect.
        const other = await t.client.start(paused, 2, { id: "j" });
        await other.pause("short break");
        await other.resume();
        await gate.finish(2, 20);
        expect(await t.result(other)).toBe(21);
      },
    };
  },
);

scenario(
  "a cancel ends running, waiting and paused flows, with its reason and author (T11, T36)",
  (t) => {
    const gate = t.gate<number, number>("gate");
    const busy = flow<number>("busy").then("a", gate.activity).build();
    const idle = flow<number>("idle").waitFor(approval).build();
    return {
      register: [busy, idle],
      run: async () => {
        const running = await t.client.start(busy, 1, { id: "running" });
        const waiting = await t.client.start(idle, 1, { id: "waiting" });
        const paused = await t.client.start(idle, 1, { id: "paused" });
        await t.settle();
        await paused.pause("lunch");
        for (const handle of [running, waiting, paused]) {
          await handle.cancel({ reason: "enough", by: "ada" });
          expect(await t.failure(handle)).toMatchObject({
            kind: "cancelled",
            message: "cancelled: enough",
          });
          expect((await handle.describe()).cancelled).toMatchObject({
            reason: "enough",
            by: "ada",
          });
        }
        expect(gate.aborts).toMatchObject([{ code: "CANCELLED", reason: "enough" }]);
        await expect(running.cancel("again")).rejects.toMatchObject({ code: "INSTANCE_FINISHED" });
        await expect(running.pause("again")).rejects.toMatchObject({ code: "INSTANCE_FINISHED" });
        await expect(t.client.get("unknown").cancel()).rejects.toMatchObject({
          code: "INSTANCE_NOT_FOUND",
        });
      },
    };
  },
);

scenario(
  "a flow is listed, watched, restarted, terminated and deleted like an orchestration",
  () => {
    const listed = flow<number>("listed")
      .then("a", (n) => n + 1)
      .delay("d", "1h")
      .build();
    return {
      register: [listed],
      outdated: ["i"],
      run: async (t) => {
        const handle = await t.client.start(listed, 1, { id: "i", attributes: { customer: "42" } });
        await t.settle();
        const { items } = await t.client.list({ name: "listed", attributes: { customer: "42" } });
        expect(items).toMatchObject([{ id: "i", status: "running", version: listed.version }]);
        const watching = handle.watch();
        expect((await watching.next()).value).toMatchObject({ waitingFor: [{ node: "d" }] });
        await watching.return();
        await t.advance("1h");
        expect(await t.result(handle)).toBe(2);
        await handle.restart();
        await t.advance("10m");
        await handle.terminate("enough");
        expect(await t.failure(handle)).toMatchObject({ kind: "terminated" });
        expect((await handle.executions()).length).toBe(2);
        expect(await t.client.delete("i")).toMatchObject({ instances: 1 });
        expect(await handle.exists()).toBe(false);
      },
    };
  },
);

scenario(
  "a start with an existing id follows onConflict, and an instance with another structure is refused (T21)",
  () => {
    const one = flow<number>("order")
      .then("a", (n) => n + 1)
      .delay("d", "1h")
      .build();
    const other = flow<number>("order")
      .then("b", (n) => n * 2)
      .build();
    return {
      register: [one, other],
      run: async (t) => {
        const first = await t.client.start(one, 1, { id: "i" });
        await t.settle();
        await expect(t.client.start(one, 2, { id: "i" })).rejects.toMatchObject({
          code: "INSTANCE_EXISTS",
        });
        const existing = await t.client.start(one, 3, { id: "i", onConflict: "useExisting" });
        for (const onConflict of ["fail", "useExisting", "restart"] as const) {
          await expect(t.client.start(other, 4, { id: "i", onConflict })).rejects.toMatchObject({
            code: "DEFINITION_MISMATCH",
          });
        }
        await expect(t.client.get(other, "i").result({ timeout: 0 })).rejects.toMatchObject({
          code: "DEFINITION_MISMATCH",
        });
        await expect(t.client.get(other, "i").node("b").result()).rejects.toMatchObject({
          code: "DEFINITION_MISMATCH",
          message: `Instance "i" runs order ${one.version}, not order ${other.version}.`,
        });
        await t.advance("1h");
        expect(await t.result(first)).toBe(2);
        expect(await t.result(existing)).toBe(2);
        expect(await t.client.get("i").result({ timeout: 0 })).toBe(2); // a handle without a definition
        const replaced = await t.client.start(other, 5, {
          id: "i",
          onConflict: "terminateExisting",
        });
        expect(await t.result(replaced)).toBe(10);
      },
    };
  },
);

scenario(
  "two structures of one flow can share a store; instances of an unregistered structure wait (T18)",
  () => {
    const old = flow<number>("order", { version: "1.0.0" })
      .then("a", (n) => n + 1)
      .delay("d", "1h")
      .build();
    const newer = flow<number>("order", { version: "1.1.0" })
      .then("a", (n) => n + 2)
      .build();
    return {
      register: [old],
      run: async (t) => {
        const first = await t.client.start(old, 1, { id: "old" });
        await t.settle();
        await t.deploy([newer]);
        const second = await t.client.start(newer, 1, { id: "newer" });
        expect(await t.result(second)).toBe(3);
        await t.advance("2h");
        // No process registers its structure. The instance neither fails nor gets lost, and does not delay other work.
        expect(await t.client.get("old").describe()).toMatchObject({ status: "running" });
        await t.deploy([old, newer]);
        await t.advance("1h");
        expect(await t.result(t.client.get(old, first.id))).toBe(2);
        // A start by name uses the newest version.
        expect(await t.result(await t.client.start("order", 1, { id: "by name" }))).toBe(3);
      },
    };
  },
);

scenario(
  "new tuning options apply to running instances, because the hash stays the same (T39)",
  () => {
    const tuned = (tuning: object, delay: "1h" | "2h") =>
      flow<number>("order")
        .then("a", (n) => n + 1, tuning)
        .delay("d", delay)
        .then("b", (n) => n * 10)
        .build();
    const before = tuned({}, "1h");
    const after = tuned({ attempts: 5, timeout: "9s", session: "s", priority: 1, tags: [] }, "2h");
    return {
      register: [before],
      run: async (t) => {
        expect(after.hash).toBe(before.hash);
        const handle = await t.client.start(before, 1, { id: "i" });
        await t.advance("10m");
        await t.deploy([after]);
        await t.advance("50m"); // the delay that is already running keeps its due time
        expect(await t.result(t.client.get(after, handle.id))).toBe(20);
      },
    };
  },
);

scenario("the context of a step has its node, its metadata and the flow's metadata (T31)", () => {
  const infos: unknown[] = [];
  const note = activity("note", (n: number, { info }) => {
    infos.push(info.flow);
    return n;
  });
  const noted = flow<number>("noted", { metadata: { team: "shop" } })
    .then(note, { metadata: { slow: true } })
    .loop("l", (f) =>
      f.then("s", (n, { info }) => {
        infos.push(info.flow);
        return n < 2 ? again(n + 1) : done(n);
      }),
    )
    .build();
  const code = orchestration("code", async (ctx) => ctx.run(note, 1));
  return {
    register: [noted, code],
    run: async (t) => {
      await t.result(await t.client.start(noted, 1, { id: "i" }));
      await t.result(await t.client.start(code, undefined, { id: "j" }));
      const flowMetadata = { team: "shop" };
      expect(infos.splice(0)).toEqual([
        { node: "note", metadata: { slow: true }, flowMetadata },
        { node: "l#0/s", metadata: undefined, flowMetadata },
        { node: "l#1/s", metadata: undefined, flowMetadata },
        undefined,
      ]);
    },
  };
});

scenario("orchestrations can call and start flows, and flows can call orchestrations", () => {
  const double = flow<number>("double")
    .then("x", (n) => n * 2)
    .build();
  const code = orchestration("code", async (ctx, n: number) => {
    const twice = await ctx.call(double, n);
    void ctx.startDetached(double, 100, { id: "detached" });
    return twice + 1;
  });
  const outer = flow<number>("outer").child(code).child("again", double).build();
  return {
    register: [double, code, outer],
    run: async (t) => {
      const handle = await t.client.start(outer, 5, { id: "i" });
      expect(await t.result(handle)).toBe(22);
      expect(await t.result(t.client.get(double, "detached"))).toBe(200);
      expect((await handle.tree()).children).toHaveLength(2);
      const { items } = await t.client.list({ parent: "i" });
      expect(items.map(({ name }) => name).sort()).toEqual(["code", "double"]);
      expect(await handle.node("code").result()).toBe(11);
      expect(await handle.node("again").describe()).toMatchObject({
        kind: "child",
        name: "double",
      });
    },
  };
});

scenario(
  "a failed child fails its node; a cancelled flow cancels its children except abandoned ones",
  () => {
    const child = flow<number>("child")
      .then("a", (n) => {
        if (n < 0) throw new RangeError("below zero");
        return n;
      })
      .delay("d", "1h")
      .build();
    const parent = flow<number>("parent")
      .fork({
        kept: (f) => f.child("c", child),
        let: (f) => f.child("c", child, { onParentClose: "abandon" }),
      })
      .build();
    return {
      register: [child, parent],
      run: async (t) => {
        const bad = await t.client.start(flowOf(parent), -1, { id: "bad" });
        expect(await t.failure(bad)).toMatchObject({
          message: "below zero",
          cause: { code: "CHILD_FAILED", node: "fork.kept/c" },
        });
        const handle = await t.client.start(parent, 1, { id: "i" });
        await t.settle();
        await handle.cancel("enough");
        await t.settle();
        const { items } = await t.client.list({ parent: "i" });
        expect(items.map(({ status }) => status).sort()).toEqual(["cancelled", "running"]);
        await t.advance("1h");
      },
    };
    function flowOf<T>(built: T): T {
      return built;
    }
  },
);

scenario("the key of a route is computed once and recorded (T2)", (t) => {
  const keys: string[] = [];
  const gate = t.gate<string, string>("gate");
  const routed = flow<string>("routed")
    .route(
      "r",
      (s) => {
        keys.push(s);
        return keys.length === 1 ? "a" : "b";
      },
      { a: (f) => f.then("x", gate.activity), b: (f) => f.then("y", () => "wrong") },
      { envelope: true },
    )
    .build();
  return {
    register: [routed],
    run: async () => {
      keys.length = 0;
      await t.client.start(routed, "s", { id: "i" });
      await t.settle();
      await t.deploy();
      await gate.finish("s", "right");
      const handle = t.client.get(routed, "i");
      expect(await t.result(handle)).toEqual({ branch: "a", result: "right" });
      expect(keys).toEqual(["s"]);
      expect(await handle.node("r.key").result()).toBe("a");
      expect(await handle.node("r").result()).toEqual({ branch: "a", result: "right" });
    },
  };
});

scenario("a failed flow can be forked before its failed step and continued (T38)", () => {
  let broken = true;
  const runs: string[] = [];
  const flaky = flow<number>("flaky")
    .then("a", (n) => {
      runs.push("a");
      return n + 1;
    })
    .then("b", (n) => {
      runs.push("b");
      if (broken) throw new Error("broken");
      return n * 10;
    })
    .build();
  return {
    register: [flaky],
    run: async (t) => {
      broken = true;
      const handle = await t.client.start(flaky, 1, { id: "i" });
      await t.failure(handle);
      expect(await handle.node("a").result()).toBe(2);
      broken = false;
      const failed = await handle.node("b").describe();
      const fork = await t.client.fork("i", { beforeSequence: failed?.sequence ?? 0, id: "again" });
      t.started.add("again");
      expect(await t.result(fork)).toBe(20);
      expect(runs.splice(0)).toEqual(["a", "b", "b"]);
    },
  };
});

scenario("a child node starts its instance with the priority of the node", () => {
  const child = orchestration("child", async (ctx) => ctx.info.instanceId);
  const parent = flow("parent").child("kid", child, { priority: 1 }).build();
  return {
    register: [parent, child],
    run: async (t) => {
      const id = await t.result(await t.client.start(parent, undefined, { id: "p", priority: 4 }));
      expect((await t.client.get(String(id)).describe()).priority).toBe(1);
    },
  };
});
