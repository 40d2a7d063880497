// Streams: what orchestrations and activities write, and when it is settled, reset and over.

import { expect } from "vitest";
import { activity, orchestration, type Handle, type RunOptions } from "../../../src/index.ts";
import { stream, type ReadStreamOptions, type StreamEntry } from "../../../src/stream/index.ts";
import { scenario } from "../support/scenario.ts";

const tokens = stream<string>("tokens");
const ONE_AT_ONCE: RunOptions = { retry: { maxAttempts: 3, backoff: { kind: "none" } } };

/** Writes the values, and then fails in the attempts before the last. */
const write = activity(
  "write",
  async (values: readonly string[], { stream: open, attempt }) => {
    await using out = open(tokens);
    for (const value of values) await out.write(`${value}${attempt}`);
    if (values.includes("fail") || (values.includes("retry") && attempt < 3)) {
      throw new Error(`attempt ${attempt}`);
    }
  },
  ONE_AT_ONCE,
);

/** The entries of a stream that is over: `call:value`, `reset call from` or `end`. */
async function textOf(handle: Handle, options: ReadStreamOptions = {}): Promise<string[]> {
  const entries = await Array.fromAsync(handle.stream(tokens, options));
  expect(entries.at(-1)).toEqual({ kind: "end" });
  return entries.map(shortly);
}

function shortly(entry: StreamEntry): string {
  if (entry.kind === "end") return "end";
  const { kind, offset, call } = entry;
  return `${offset} ${call}:${kind === "item" ? String(entry.value) : `reset ${entry.from}`}`;
}

scenario(
  "each value that an orchestration writes is in its stream once, also after a crash",
  () => {
    const echo = activity("echo", async (value: string) => value);
    const main = orchestration("main", async (ctx) => {
      const out = ctx.stream(tokens);
      out.write("a");
      out.write("b");
      out.write(await ctx.run(echo, "c"));
      await ctx.waitFor("go");
      out.write("d");
      await ctx.waitFor("go");
      out.write("e");
    });
    return {
      register: [main, echo],
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        await handle.raise("go");
        await t.crashAndRecover();
        await t.client.raise("i", "go");
        await t.settle();
        const read = await Array.fromAsync(t.client.get("i").stream(tokens));
        expect(read).toEqual([
          ...["a", "b", "c", "d", "e"].map((value, offset) => ({
            kind: "item",
            offset,
            call: 0,
            value,
          })),
          { kind: "end" },
        ]);
      },
    };
  },
);

scenario("a reader receives what an activity writes while it runs", (t) => {
  const gate = t.gate<undefined, undefined>("gate");
  const main = orchestration("main", async (ctx) => {
    await ctx.run(write, ["a", "b"]);
    await ctx.run(gate.activity);
  });
  return {
    register: [main, write, gate.activity],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const entries = handle.stream(tokens);
      const first = await t.during(entries.next());
      expect(first.value).toEqual({ kind: "item", offset: 0, call: 2, value: "a1" });
      expect((await entries.next()).value).toMatchObject({ offset: 1, value: "b1" });
      const end = entries.next();
      await gate.finish(undefined, undefined);
      expect((await t.during(end)).value).toEqual({ kind: "end" });
      expect(await entries.next()).toEqual({ done: true, value: undefined });
    },
  };
});

scenario("a retry begins with a reset, and only the successful attempt is settled", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.run(write, ["a", "retry"]);
    ctx.stream(tokens).write("z");
  });
  return {
    register: [main, write],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.result(handle);
      expect(await textOf(handle)).toEqual([
        ...["0 2:a1", "1 2:retry1", "2 2:reset 0", "3 2:a2", "4 2:retry2"],
        ...["5 2:reset 0", "6 2:a3", "7 2:retry3", "8 0:z", "end"],
      ]);
      expect(await textOf(handle, { settled: true })).toEqual([
        ...["6 2:a3", "7 2:retry3", "8 0:z", "end"],
      ]);
      expect(await textOf(handle, { from: 7 })).toEqual(["7 2:retry3", "8 0:z", "end"]);
    },
  };
});

scenario("an activity whose process died begins with a reset in its next run", (t) => {
  const slow = activity("slow", async (_input: undefined, { stream: open, attempt }) => {
    const out = open(tokens);
    await out.write(`before ${attempt}`);
    await out.flush();
    if (attempt === 1) await new Promise(() => undefined);
    await out.write("after");
  });
  const main = orchestration("main", async (ctx) => ctx.run(slow));
  return {
    register: [main, slow],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(await handle.streams()).toMatchObject([{ name: "tokens", first: 0, next: 1 }]);
      await t.crashAndRecover();
      const again = t.client.get("i");
      await t.result(again);
      expect(await textOf(again)).toEqual([
        ...["0 2:before 1", "1 2:reset 0", "2 2:before 2", "3 2:after", "end"],
      ]);
    },
  };
});

scenario("a settled reader waits at an open call, and skips one that failed for good", (t) => {
  const gate = t.gate<string, undefined>("gate");
  const write = async (visit: number, value: string): Promise<void> => {
    await using out = gate.visits[visit]!.context.stream(tokens);
    await out.write(value);
    await t.during(out.flush());
  };
  const main = orchestration("main", async (ctx) => {
    const failing = ctx.run(gate.activity, "failing").catch(() => undefined);
    const good = ctx.run(gate.activity, "good");
    await ctx.waitFor("go");
    ctx.stream(tokens).write("mine");
    await ctx.all([failing, good]);
    await ctx.waitFor("go");
  });
  return {
    register: [main, gate.activity],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await write(0, "failing");
      await write(1, "good");
      await handle.raise("go");
      await t.settle();
      const entries = handle.stream(tokens, { settled: true });
      let seen: unknown = null;
      void entries.next().then(({ value }) => (seen = value));
      await t.settle();
      expect(seen).toBeNull();
      await gate.finish("good", undefined);
      expect(seen).toBeNull(); // the order of the offsets is kept
      await gate.fail("failing", new Error("no"));
      expect(seen).toMatchObject({ kind: "item", offset: 1, value: "good" });
      expect((await entries.next()).value).toMatchObject({ offset: 2, value: "mine" });
      await handle.raise("go");
      expect((await t.during(entries.next())).value).toEqual({ kind: "end" });
    },
  };
});

scenario("after close, readers end and every write is refused, also over continueAsNew", () => {
  const late = activity("late", async (_input: undefined, { stream: open }) => {
    const out = open(tokens);
    await out.write("late");
    await out.flush().catch((error: Error & { code?: string }) => {
      throw new Error(`${error.code}: ${error.message}`);
    });
  });
  /** It gets the error, or it ends without having got it (attempt-streams.3). */
  const ignoring = activity("ignoring", async (waits: boolean, { stream: open }) => {
    const out = open(tokens);
    await out.write("late");
    if (waits) await out.flush().catch(() => undefined);
    return "completed";
  });
  const refusal = (act: () => void): string => {
    try {
      act();
      return "accepted";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    const out = ctx.stream(tokens);
    const found = [refusal(() => out.write(`round ${round}`))];
    out.close();
    out.close();
    found.push(refusal(() => out.write("more")));
    await ctx.waitFor("go");
    if (round === 1) return ctx.continueAsNew(2);
    const failed = await ctx.run(late).catch((error: Error) => error.message);
    const caught = await ctx.run(ignoring, true);
    const unseen = await ctx.run(ignoring, false).catch((error: Error) => error.message);
    return [...found, failed, caught, unseen];
  });
  return {
    register: [main, late, ignoring],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.settle();
      expect(await textOf(handle)).toEqual(["0 0:round 1", "end"]);
      await handle.raise("go");
      await handle.raise("go");
      const [first, second, failed, caught, unseen] = (await t.result(handle)) as string[];
      expect([first, second]).toEqual(["INVALID_ARGUMENT", "INVALID_ARGUMENT"]);
      expect(failed).toContain('INVALID_ARGUMENT: Stream "tokens" is closed');
      expect([caught, unseen]).toEqual([
        "completed",
        expect.stringContaining('Stream "tokens" is closed'),
      ]);
      expect(await handle.streams()).toMatchObject([{ next: 1, isClosed: true }]);
    },
  };
});

scenario(
  "a stream continues over continueAsNew, the end and a restart, and a fork has none",
  () => {
    const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
      ctx.stream(tokens).write(`round ${round}`);
      await ctx.run(write, ["w"]);
      if (round < 3) return ctx.continueAsNew(round + 1);
      ctx.stream(tokens).close();
      await ctx.waitFor("go");
      return "done";
    });
    return {
      register: [main, write],
      run: async (t) => {
        const handle = await t.client.start(main, 1, { id: "i" });
        await handle.raise("go");
        await t.result(handle);
        const rounds = [
          ...["0 0:round 1", "1 2:w1", "2 0:round 2", "3 2:w1", "4 0:round 3", "5 2:w1"],
        ];
        expect(await textOf(handle)).toEqual([...rounds, "end"]);
        const fork = await t.client.fork("i", { id: "fork", beforeSequence: 2 });
        await t.settle();
        expect(await fork.streams()).toMatchObject([{ name: "tokens", next: 2 }]);
        await fork.terminate();
        await handle.restart();
        await t.settle();
        await handle.raise("go");
        await t.result(handle);
        expect(await textOf(handle)).toEqual([...rounds, "6 0:round 3", "7 2:w1", "end"]);
        expect(await textOf(handle, { settled: true })).toHaveLength(9);
      },
    };
  },
);

scenario(
  "what a cancelled call wrote stays and is not settled; readers end with the instance",
  (t) => {
    const slow = activity("slow", async (_input: undefined, { stream: open, signal }) => {
      await using out = open(tokens);
      await out.write("partial");
      await out.flush();
      await new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    });
    const main = orchestration("main", async (ctx) => {
      ctx.stream(tokens).write("begun");
      await ctx.run(slow);
    });
    return {
      register: [main, slow],
      run: async () => {
        for (const how of ["cancel", "terminate"] as const) {
          const handle = await t.client.start(main, undefined, { id: how });
          const all = textOf(handle);
          const settled = textOf(handle, { settled: true });
          await t.settle();
          await handle[how]("stop");
          expect(await t.during(all)).toEqual(["0 0:begun", "1 2:partial", "end"]);
          expect(await t.during(settled)).toEqual(["0 0:begun", "end"]);
        }
      },
    };
  },
);

scenario("log lines go to the stream perdure.log, each once, and to the log sink as before", () => {
  const work = activity("work", async (_input: undefined, { log }) => {
    log.warn("working", { left: 2 });
    log.info("odd", { fn: () => undefined });
  });
  const main = orchestration("main", async (ctx) => {
    ctx.log.info("begun", { round: 1 });
    await ctx.run(work);
    ctx.log.error("over");
  });
  const sunk: string[] = [];
  return {
    register: [main, work],
    runtime: { log: { stream: true, sink: (_level, message) => void sunk.push(message) } },
    run: async (t) => {
      sunk.length = 0;
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.result(handle);
      const lines = await Array.fromAsync(handle.stream("perdure.log"));
      expect(lines).toMatchObject([
        { call: 0, value: { level: "info", message: "begun", fields: { round: 1 } } },
        { call: 2, value: { level: "warn", message: "working", fields: { left: 2 } } },
        { call: 2, value: { level: "info", message: "odd" } },
        { call: 0, value: { level: "error", message: "over" } },
        { kind: "end" },
      ]);
      expect(sunk).toEqual(["begun", "working", "odd", "over"]);
    },
  };
});

scenario("values that cannot be stored or are too large are refused at the write", () => {
  const codeOf = (error: unknown): unknown => {
    const { code, path } = error as { readonly code: string; readonly path?: string };
    return [code, path];
  };
  const schema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value: unknown) =>
        typeof value === "string" ? { value } : { issues: [{ message: "must be a text" }] },
    },
  } as const;
  const texts = stream("texts", { schema });
  const wrong = activity("wrong", async (_input: undefined, { stream: open }) => {
    const out = open("any");
    const codes: unknown[] = [];
    for (const value of [{ deep: [() => 1] }, "x".repeat(3_000_000)]) {
      codes.push(await out.write(value).catch(codeOf));
    }
    codes.push(
      await open(texts)
        .write(5 as never)
        .catch(codeOf),
    );
    await out.close();
    codes.push(await out.write("closed").catch(codeOf));
    return codes;
  });
  const main = orchestration("main", async (ctx) => {
    const codes: unknown[] = [];
    const attempt = (act: () => unknown): void => {
      try {
        codes.push(act() ?? "accepted");
      } catch (error) {
        codes.push(codeOf(error));
      }
    };
    attempt(() => ctx.stream("any").write({ deep: [() => 1] }));
    attempt(() => ctx.stream("any").write("x".repeat(3_000_000)));
    attempt(() => ctx.stream(texts).write(5 as never));
    attempt(() => ctx.stream("perdure.log"));
    attempt(() => (ctx.stream("any") as unknown as AsyncIterable<unknown>)[Symbol.asyncIterator]());
    attempt(() => {
      for (let count = 0; count <= 10_000; count++) ctx.stream("many").write(0);
    });
    return { codes, inActivity: await ctx.run(wrong) };
  });
  return {
    register: [main, wrong],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const unstorable = ["VALUE_NOT_SERIALIZABLE", expect.stringContaining("deep") as string];
      expect(await t.result(handle)).toEqual({
        codes: [
          unstorable,
          ["LIMIT_EXCEEDED", undefined],
          ["INVALID_ARGUMENT", "$"],
          ["INVALID_ARGUMENT", undefined],
          ["INVALID_ARGUMENT", undefined],
          ["LIMIT_EXCEEDED", undefined],
        ],
        inActivity: [
          unstorable,
          ["LIMIT_EXCEEDED", undefined],
          ["INVALID_ARGUMENT", "$"],
          ["INVALID_ARGUMENT", undefined],
        ],
      });
      expect(await handle.streams()).toMatchObject([{ name: "many", next: 10_000 }]);
    },
  };
});
