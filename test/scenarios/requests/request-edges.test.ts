// Requests at their edges: answers that cannot be stored, hostile validation, restarts, instances that cannot run.

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { expect } from "vitest";
import { entity } from "../../../src/entity/index.ts";
import { orchestration, request } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const say = request<string, string>("say");

scenario("an answer that cannot be stored, and that the loop does not catch, fails the request", {
  register: [
    orchestration("server", async (ctx) => {
      for await (const call of ctx.requests(say)) call.answer((() => "no") as never);
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    await expect(t.during(handle.ask(say, "x"))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      kind: "failed",
      cause: { code: "VALUE_NOT_SERIALIZABLE" },
    });
    expect(await t.failure(handle)).toMatchObject({ code: "ORCHESTRATION_FAILED" });
  },
});

scenario("a validation that uses the context, or is asynchronous, refuses the request", {
  register: [
    orchestration("server", async (ctx, how: "context" | "promise") => {
      const validate = (): void => {
        if (how === "context") ctx.setStatus("validating");
        else return Promise.resolve() as never;
      };
      await ctx.serve(say, async (text) => text, { validate });
    }),
  ],
  run: async (t) => {
    for (const how of ["context", "promise"] as const) {
      const handle = await t.client.start("server", how, { id: how });
      await expect(t.during(handle.ask(say, "x"))).rejects.toMatchObject({
        code: "REQUEST_REFUSED",
        kind: "refused",
        cause: { code: how === "context" ? "GUARD_VIOLATION" : "INVALID_ARGUMENT" },
      });
      expect((await handle.describe()).customStatus).toBeUndefined();
    }
  },
});

scenario("after a restart old ids give their stored answers, and unanswered ones have finished", {
  register: [
    orchestration("server", async (ctx) => {
      for await (const call of ctx.requests(say)) {
        if (call.input === "end") break;
        if (call.input !== "ignore") call.answer(call.input);
      }
    }),
  ],
  run: async (t) => {
    const handle = await t.client.start("server", undefined, { id: "server" });
    const ask = (text: string, timeout = "30s") =>
      t.during(
        t.client.get("server").ask(say, text, { requestId: text, timeout: timeout as "30s" }),
      );
    expect(await ask("a")).toBe("a");
    const ignored = ask("ignore").catch((error: unknown) => error);
    await t.settle();
    await handle.ask(say, "end", { timeout: 0 }).catch(() => undefined);
    await t.settle();
    expect(await ignored).toMatchObject({ code: "INSTANCE_FINISHED" });
    await handle.restart();
    await t.settle();
    expect(await ask("a")).toBe("a");
    await expect(ask("ignore")).rejects.toMatchObject({ code: "INSTANCE_FINISHED" });
    expect(await ask("b")).toBe("b");
  },
});

scenario(
  "the timeout of an ask says that no worker runs the instance, and a signal ends the wait",
  {
    register: [],
    run: async (t) => {
      const handle = await t.client.start("elsewhere", undefined, { id: "elsewhere" });
      const asked = handle.ask(say, "x", { timeout: "5s" });
      const outcome = expect(asked).rejects.toMatchObject({
        code: "TIMEOUT",
        message: expect.stringMatching(/within 5s: no running worker .*"elsewhere"/),
      });
      await t.advance("6s");
      await outcome;
      const stop = new AbortController();
      const waiting = handle.ask(say, "y", { signal: stop.signal });
      await t.settle();
      stop.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
    },
  },
);

const positive = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (given: unknown) =>
      typeof given === "number" && given > 0
        ? { value: given }
        : { issues: [{ message: "must be positive" }] },
  },
} as const;
const account = entity("account", {
  state: () => ({ cents: 0, log: "" }),
  handlers: {
    deposit: (self, cents: number) => (self.state.cents += cents),
    // It makes calls and ends in the turn in which it began, because its event is there already.
    audit: async (self) => {
      const note = await self.ctx.waitFor<string>(`at ${self.state.cents}`);
      self.state.log += `${note} at ${self.state.cents};`;
      await self.ctx.waitFor<string>(`at ${self.state.cents}`);
      throw new RangeError(self.state.log);
    },
    fill: (self, characters: number) => {
      self.state.log = "x".repeat(characters);
    },
  },
  inputs: { deposit: positive },
  reads: { balance: (state) => state.cents, size: (state) => state.log.length },
});

scenario("an entity refuses bad inputs and large states, and keeps its state", {
  register: [account],
  run: async (t) => {
    t.started.add("account/ada");
    const ada = t.client.entity(account, "ada");
    expect(await t.during(ada.deposit(1))).toBe(1);
    await expect(ada.deposit(-1)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(t.during(t.client.get("account/ada").ask("deposit", -1))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      kind: "refused",
    });
    await expect(t.during(ada.fill(1_100_000))).rejects.toMatchObject({
      kind: "failed",
      cause: { code: "LIMIT_EXCEEDED" },
    });
    expect([await ada.balance(), await ada.size()]).toEqual([1, 0]);
    await t.during(ada.fill(1_000_000));
    expect(await t.during(ada.deposit(2))).toBe(3);
    await t.deploy();
    expect(await t.client.entity(account, "ada").size()).toBe(1_000_000);
    expect(await t.during(t.client.entity(account, "ada").deposit(4))).toBe(7);
  },
});

scenario("a replay gives a handler that made calls and failed the state that it had", {
  register: [account],
  run: async (t) => {
    t.started.add("account/ada");
    const ada = t.client.entity(account, "ada");
    await t.during(ada.deposit(1));
    const handle = t.client.get("account/ada");
    await handle.pause();
    for (let note = 0; note < 2; note++) await handle.raise("at 3", `note ${note}`);
    const calls = Promise.allSettled([ada.deposit(2), ada.audit(), ada.deposit(4)]);
    await t.settle();
    await handle.resume();
    expect(await t.during(calls)).toMatchObject([
      { value: 3 },
      { reason: { message: "note 0 at 3;" } },
      { value: 7 },
    ]);
    await t.deploy();
    expect(await t.during(t.client.entity(account, "ada").deposit(1))).toBe(8);
  },
});

const sized = request("sized", {
  input: toStandardJsonSchema(v.object({ size: v.picklist(["s", "m"]) })),
});
const plain = request<number, void>("plain");
const tailor = orchestration("tailor", async (ctx) => {
  for await (const call of ctx.requests(sized, plain)) call.answer();
});

scenario("describe shows the JSON Schema of a served request, as the history recorded it", {
  register: [tailor],
  run: async (t) => {
    const handle = await t.client.start(tailor, undefined, { id: "tailor" });
    await t.during(handle.ask(sized, { size: "s" }));
    const schema = {
      type: "object",
      properties: { size: { enum: ["s", "m"] } },
      required: ["size"],
    };
    const expected = [
      { kind: "requests", names: ["sized", "plain"], schemas: { sized: schema } },
    ] as const;
    expect((await handle.describe()).waitingFor).toMatchObject(expected);
    await t.deploy();
    await t.during(handle.ask(sized, { size: "m" }));
    expect((await handle.describe()).waitingFor).toMatchObject(expected);
    await expect(t.during(handle.ask("sized", { size: "xl" }))).rejects.toMatchObject({
      code: "REQUEST_REFUSED",
      failure: { code: "INVALID_ARGUMENT" },
    });
  },
});
