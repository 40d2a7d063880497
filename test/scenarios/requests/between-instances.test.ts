// Messages between instances: ctx.ask, ctx.raise and the outcome of ctx.startDetached.

import { expect } from "vitest";
import { isPerdureError, orchestration, request, RequestError } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const double = request<number, number>("double");
const stop = request("stop");

const server = orchestration("server", async (ctx, _: undefined) => {
  for await (const call of ctx.requests(double, stop)) {
    if (call.is(stop)) {
      call.answer();
      break;
    }
    if (call.is(double)) {
      if (call.input < 0) call.refuse("negative");
      else call.answer(call.input * 2);
    }
  }
});

/** Asks the server, and returns the answer or the code of the error. */
const asker = orchestration("asker", async (ctx, input: number) => {
  try {
    return await ctx.ask("server", double, input);
  } catch (error) {
    if (error instanceof RequestError) return `${error.kind}: ${error.message}`;
    return isPerdureError(error) ? error.code : "another error";
  }
});

scenario("an instance asks another one and gets its answer", {
  register: [server, asker],
  run: async (t) => {
    await t.client.start(server, undefined, { id: "server" });
    const handles = await Promise.all(
      [1, 2, -1].map((input) => t.client.start(asker, input, { id: `asker ${input}` })),
    );
    const results = [];
    for (const handle of handles) results.push(await t.result(handle));
    expect(results).toEqual([2, 4, "refused: negative"]);
    expect(await t.story(t.client.get("asker 1"))).toEqual([
      "OrchestrationStarted",
      "AskSent double",
      "AskCompleted 2",
      "OrchestrationCompleted",
    ]);
  },
});

scenario("asking an instance that does not exist, or has ended, rejects", {
  register: [server, asker],
  run: async (t) => {
    const early = await t.client.start(asker, 1, { id: "early" });
    expect(await t.result(early)).toBe("INSTANCE_NOT_FOUND");
    const handle = await t.client.start(server, undefined, { id: "server" });
    await t.during(handle.ask(stop));
    const late = await t.client.start(asker, 1, { id: "late" });
    expect(await t.result(late)).toBe("INSTANCE_FINISHED");
  },
});

scenario("an asked instance that ends or is terminated without an answer rejects the ask", {
  register: [
    asker,
    orchestration("server", async (ctx) => {
      await ctx.waitFor("end");
    }),
  ],
  run: async (t) => {
    for (const end of ["raise", "terminate"] as const) {
      const deaf = await t.client.start("server", undefined, {
        id: "server",
        onConflict: "terminateExisting",
      });
      const handle = await t.client.start(asker, 1, { id: `asker ${end}` });
      await t.settle();
      if (end === "raise") await deaf.raise("end");
      else await deaf.terminate();
      expect(await t.result(handle)).toBe("INSTANCE_FINISHED");
    }
  },
});

scenario("an ask that loses a race is withdrawn if it was not received", {
  register: [
    server,
    orchestration("hasty", async (ctx) => {
      const first = await ctx.race({
        answer: ctx.ask("server", double, 1),
        timer: ctx.sleep("1s"),
      });
      return first.key;
    }),
    orchestration("patient", async (ctx) => {
      try {
        return await ctx.ask("server", double, 1, { timeout: "1s" });
      } catch (error) {
        return (error as { code: string }).code;
      }
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start(server, undefined, { id: "server" });
    await t.settle();
    await handle.pause();
    const hasty = await t.client.start("hasty", undefined, { id: "hasty" });
    const patient = await t.client.start("patient", undefined, { id: "patient" });
    await t.advance("2s");
    expect(await t.result(hasty)).toBe("timer");
    expect(await t.result(patient)).toBe("TIMEOUT");
    await handle.resume();
    await t.settle();
    expect(await t.story(handle)).toEqual(["OrchestrationStarted", "RequestsServed"]);
  },
});

scenario("an ask starts the asked instance, or restarts it, in the commit of the asker's turn", {
  register: [
    server,
    orchestration("starter", async (ctx, ifEnded: "fail" | "restart") => {
      const start = { orchestration: server, ifEnded };
      try {
        return await ctx.ask("server", double, 4, { start });
      } catch (error) {
        return (error as { code: string }).code;
      }
    }),
  ],
  run: async (t) => {
    t.started.add("server");
    const ask = async (id: string, ifEnded: "fail" | "restart") =>
      t.result(await t.client.start("starter", ifEnded, { id }));
    expect(await ask("a", "fail")).toBe(8);
    expect(await ask("b", "fail")).toBe(8);
    await t.during(t.client.get("server").ask(stop));
    expect(await ask("c", "fail")).toBe("INSTANCE_FINISHED");
    expect(await ask("d", "restart")).toBe(8);
    expect((await t.client.get("server").describe()).execution).toBe(2);
  },
});

scenario("an event to another instance is delivered with the turn, kept, or refused", {
  register: [
    orchestration("sender", async (ctx) => {
      await ctx.raise("receiver", "go", 1);
      await ctx.raise("later", "go", 2, { ifMissing: "keep" });
      void ctx.raise("nobody", "go", 3);
      try {
        await ctx.raise("nobody", "go", 4);
        return "delivered";
      } catch (error) {
        return (error as { code: string }).code;
      }
    }),
    orchestration("receiver", async (ctx) => ctx.waitFor("go")),
  ],
  run: async (t) => {
    const receiver = await t.client.start("receiver", undefined, { id: "receiver" });
    const sender = await t.client.start("sender", undefined, { id: "sender" });
    expect(await t.result(sender)).toBe("INSTANCE_NOT_FOUND");
    expect(await t.result(receiver)).toBe(1);
    const later = await t.client.start("receiver", undefined, { id: "later" });
    expect(await t.result(later)).toBe(2);
    expect(t.messages).toEqual([
      'ctx.raise of event "go" to instance "nobody" failed: There is no instance "nobody".',
    ]);
  },
});

scenario("a detached start has an outcome", {
  register: [
    orchestration("target", async (ctx) => ctx.waitFor("end")),
    orchestration("starter", async (ctx) => {
      const options = { id: "target", attributes: { by: "starter" }, priority: 2 };
      const outcomes: unknown[] = [await ctx.startDetached("target", null, options)];
      outcomes.push(
        await ctx.startDetached("target", null, { id: "target", onConflict: "useExisting" }),
      );
      void ctx.startDetached("target", null, { id: "target" });
      try {
        await ctx.startDetached("target", null, { id: "target" });
      } catch (error) {
        outcomes.push((error as { code: string }).code);
      }
      await ctx.startDetached("target", null, { id: "delayed", delay: "1h" });
      return outcomes;
    }),
  ],
  run: async (t) => {
    const starter = await t.client.start("starter", undefined, { id: "starter" });
    expect(await t.result(starter)).toEqual(["started", "existing", "INSTANCE_EXISTS"]);
    t.started.add("target").add("delayed");
    expect(await t.client.get("target").describe()).toMatchObject({
      status: "running",
      attributes: { by: "starter" },
      priority: 2,
    });
    expect(await t.client.get("delayed").describe()).toMatchObject({ status: "pending" });
    await t.advance("1h");
    expect(await t.client.get("delayed").describe()).toMatchObject({ status: "running" });
    expect(t.messages).toEqual([
      'ctx.startDetached of "target" with id "target" failed: An instance with id "target" already exists.',
    ]);
  },
});

scenario("a child can have attributes and begin later", {
  register: [
    orchestration("child", async () => "done"),
    orchestration("parent", async (ctx) =>
      ctx.call("child", null, { id: "child", delay: "1h", attributes: { kind: "late" } }),
    ),
  ],
  run: async (t) => {
    const parent = await t.client.start("parent", undefined, { id: "parent" });
    await t.settle();
    expect(await t.client.get("child").describe()).toMatchObject({
      status: "pending",
      attributes: { kind: "late" },
    });
    await t.advance("1h");
    expect(await t.result(parent)).toBe("done");
  },
});

scenario("a message of the last turn is sent, and its failure is logged", {
  register: [
    orchestration("sender", async (ctx) => {
      void ctx.raise("receiver", "go", 1);
      void ctx.raise("nobody", "go", 2);
    }),
    orchestration("receiver", async (ctx) => ctx.waitFor("go")),
  ],
  run: async (t) => {
    const receiver = await t.client.start("receiver", undefined, { id: "receiver" });
    await t.client.start("sender", undefined, { id: "sender" });
    expect(await t.result(receiver)).toBe(1);
    expect(t.messages).toEqual([
      'ctx.raise of event "go" to instance "nobody" failed: There is no instance "nobody".',
    ]);
  },
});

scenario("a refused message whose call was cancelled is logged", {
  register: [
    orchestration("main", async (ctx) => {
      ctx.compensate(() => ctx.sleep("1s"));
      void ctx.raise("nobody", "go", 1);
      throw new Error("it fails");
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("main", undefined, { id: "main" });
    await t.advance("2s");
    expect((await handle.describe()).status).toBe("failed");
    const logged = t.logs.filter(({ message }) => message.includes("which was cancelled"));
    expect(logged).toMatchObject([{ level: "warn", instance: "main" }]);
  },
});

scenario("a fork owns no requests: it neither answers them nor carries them over", {
  register: [
    asker,
    orchestration("server", async (ctx, round: number) => {
      for await (const call of ctx.requests(double)) {
        if (round === 1) {
          await ctx.waitFor("go");
          return ctx.continueAsNew(2);
        }
        if (call.is(double)) call.answer(call.input * 2);
      }
      return null;
    }),
  ],
  run: async (t) => {
    const source = await t.client.start("server", 1, { id: "server" });
    const waiting = await t.client.start(asker, 4, { id: "asker" });
    await t.settle();
    const beforeSequence = (await source.history()).length + 1;
    const fork = await t.client.fork("server", { beforeSequence, id: "fork" });
    await fork.raise("go");
    await t.settle();
    expect((await fork.describe()).execution).toBe(2);
    expect((await waiting.describe()).status).toBe("running");
    await source.raise("go");
    expect(await t.result(waiting)).toBe(8);
  },
});
