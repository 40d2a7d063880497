// Keys of jobs: unique, debounce and throttle, from the caller's side. The rules of the store are in the conformance suite.

import { expect } from "vitest";
import { job } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario(
  "unique: calls share the job that is pending or running, and the next call begins a new one",
  (t) => {
    const work = t.gate<string, string>("work");
    return {
      register: [work.activity],
      run: async () => {
        const enqueue = (input: string) => t.client.enqueue(work.activity, input, { unique: "k" });
        const first = await enqueue("a");
        const second = await enqueue("b");
        expect(second.id).toBe(first.id);
        const other = await t.client.enqueue(work.activity, "c", { unique: "other" });
        await t.settle();
        expect(work.waiting).toEqual(["a", "c"]);
        const refused = { unique: { key: "k", onConflict: "fail" } } as const;
        await expect(t.client.enqueue(work.activity, "d", refused)).rejects.toMatchObject({
          code: "INSTANCE_EXISTS",
        });
        await work.finish("a", "A");
        await work.finish("c", "C");
        expect(await t.result(second)).toBe("A");
        const third = await enqueue("e");
        expect(third.id).not.toBe(first.id);
        await work.finish("e", "E");
        expect(await t.result(third)).toBe("E");
        expect(await t.result(other)).toBe("C");
      },
    };
  },
);

scenario("unique with replace: the latest input runs after the job that is running", (t) => {
  const work = t.gate<string, string>("work");
  return {
    register: [work.activity],
    run: async () => {
      const replace = (input: string) =>
        t.client.enqueue(work.activity, input, { unique: { key: "k", onConflict: "replace" } });
      const first = await replace("a");
      await t.settle();
      const second = await replace("b");
      const third = await replace("c");
      expect(third.id).toBe(second.id);
      await t.settle();
      expect(work.inputs).toEqual(["a"]);
      await work.finish("a", "A");
      await t.advance("2h"); // at the latest, a poll finds the job that waited
      await work.finish("c", "C");
      expect(work.inputs).toEqual(["a", "c"]);
      expect(await t.result(first)).toBe("A");
      expect(await t.result(second)).toBe("C");
    },
  };
});

scenario("debounce: one run with the latest input, after the calls have stopped", () => {
  const inputs: string[] = [];
  const sync = job("sync", async (text: string) => (inputs.push(text), text));
  return {
    register: [sync],
    run: async (t) => {
      const call = (text: string) =>
        t.client.enqueue(sync, text, { debounce: { key: "d", wait: "30s", max: "1m" } });
      const first = await call("a");
      await t.advance("20s");
      const second = await call("b");
      await t.advance("20s");
      const third = await call("c"); // 40 s after the first call: max bounds the wait to 20 s
      expect(new Set([first.id, second.id, third.id]).size).toBe(1);
      await t.advance("19s");
      expect(inputs).toEqual([]);
      await t.advance("2s");
      expect(inputs).toEqual(["c"]);
      expect(await t.result(first)).toBe("c");
      const next = await call("d");
      expect(next.id).not.toBe(first.id);
      await t.advance("31s");
      expect(inputs).toEqual(["c", "d"]);
    },
  };
});

scenario(
  "throttle: the first call runs at once, and a trailing one at the end of the window",
  () => {
    const inputs: string[] = [];
    const sync = job("sync", async (text: string) => (inputs.push(text), text));
    return {
      register: [sync],
      run: async (t) => {
        const plain = (text: string) =>
          t.client.enqueue(sync, text, { throttle: { key: "p", per: "1m" } });
        const trailing = (text: string) =>
          t.client.enqueue(sync, text, { throttle: { key: "t", per: "1m", trailing: true } });
        const first = await plain("a");
        await t.settle();
        expect((await plain("b")).id).toBe(first.id);
        await trailing("c");
        const late = await trailing("d");
        expect((await trailing("e")).id).toBe(late.id);
        await t.settle();
        expect(inputs).toEqual(["a", "c"]);
        await t.advance("61s");
        expect(inputs).toEqual(["a", "c", "e"]);
        expect(await t.result(late)).toBe("e");
        expect((await plain("f")).id).not.toBe(first.id);
        await t.settle();
        expect(inputs).toEqual(["a", "c", "e", "f"]);
      },
    };
  },
);
