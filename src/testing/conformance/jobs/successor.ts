// Contract of `replace` while the activity runs: the next instance of the key waits for the end of the running one
// (provider.enqueue.2).

import { expect } from "vitest";
import type { TaskClaim } from "../../../core/provider/index.ts";
import type { ContractCase, ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  failedText,
  fresh,
  type Held,
  sendItem,
  startItem,
  terminateItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { jobEnd } from "./job-items.ts";
import { begin, enqueue, enqueueItem, run, startOf, unique } from "./job-steps.ts";

const replace = unique("replace");

/** An instance whose activity runs. */
type Running = Held & { readonly claim: TaskClaim };

/** Every way in which the running instance ends. */
const ENDS: Readonly<Record<string, (setup: Setup, held: Running) => Promise<unknown>>> = {
  "a turn that completes it": (setup, held) => setup.complete(held),
  "a turn that fails it": (setup, held) =>
    setup.turn(held, {
      events: [failedText("failed")],
      change: { kind: "ended", status: "failed", output: null, error: failedText("failed") },
    }),
  "an unleased turn that completes it": async (setup, { key, token, claim }) => {
    await setup.commit({ kind: "releaseInstance", key, token });
    expect(await setup.commit(jobEnd(claim))).toMatchObject({ kind: "committed" });
  },
  "a terminate": (setup) => setup.commit(terminateItem("a")),
  "a cancel of a blocked instance": async (setup, { key, token }) => {
    await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
    return setup.commit(cancelItem("a"));
  },
  "a start that terminates it": async (setup) => {
    await setup.commit(startItem({ id: "a", onConflict: "terminateExisting", delayMs: 60_000 }));
  },
  "a deletion by force": (setup) => setup.provider.deleteInstance({ id: "a", force: true }),
};

/** `a` runs its activity, and `b` waits for its end. */
async function waiting(setup: Setup): Promise<Running> {
  await enqueue(setup, enqueueItem("a", replace), "started");
  const lease = { owner: ALPHA, token: fresh() };
  const { held, task } = await begin(setup, "a", { lease });
  await enqueue(setup, enqueueItem("b", replace, { input: "1" }), "started");
  return { ...held, claim: { ...task, token: lease.token } };
}

const ends: readonly ContractCase[] = Object.entries(ENDS).map(([name, end]) => ({
  title: `the waiting instance becomes due with ${name}`,
  async run(setup) {
    const held = await waiting(setup);
    const due: string[] = [];
    const stop = setup.provider.subscribe((news) => due.push(...news.due));
    await end(setup, held);
    const { message } = await startOf(setup, "b");
    expect(message.visibleAt).toBe(setup.environment.now());
    await setup.leaseOnly("b");
    expect(due).toContain("b");
    stop();
  },
}));

export const waitingSuccessors: ContractSubject = {
  subject: "starts that wait for the end of another instance",
  cases: [
    ...ends,
    {
      title:
        "while the activity runs, replace inserts the next instance, which is pending and not due",
      async run(setup) {
        const held = await waiting(setup);
        expect(await setup.read("b")).toMatchObject({ status: "pending", execution: 1 });
        expect(await setup.read("a")).toMatchObject({ status: "running" });
        await setup.environment.advance(24 * 3_600_000);
        expect((await setup.leaseNothing()).nextAt).toBeNull();
        await setup.turn(held);
        expect(await setup.commit(enqueueItem("c", unique("fail")))).toMatchObject({
          kind: "refused",
          id: "a",
        });
        expect(await setup.commit(enqueueItem("c", unique()))).toMatchObject({
          kind: "existing",
          id: "a",
        });
      },
    },
    {
      title: "further calls replace the waiting instance in place",
      async run(setup) {
        const held = await waiting(setup);
        const { key: number } = await setup.read("b");
        const item = enqueueItem("c", replace, { input: "2", attributes: { n: "2" }, priority: 1 });
        const replaced = { kind: "replaced", id: "b", key: number, execution: 1 };
        expect(await setup.commit(item)).toEqual(replaced);
        const record = await setup.read("b");
        expect(record).toMatchObject({ status: "pending", priority: 1, attributes: { n: "2" } });
        expect((await startOf(setup, "b")).input).toBe("2");
        expect(await setup.provider.readInstance("c")).toBeNull();
        await setup.leaseNothing();
        await setup.complete(held);
        await begin(setup, "b");
      },
    },
    {
      title: "after its release the waiting instance is the one of the key",
      async run(setup) {
        await setup.complete(await waiting(setup));
        expect(await setup.commit(enqueueItem("c", unique("fail")))).toMatchObject({ id: "b" });
        const replaced = { kind: "replaced", id: "b", execution: 2 };
        expect(await setup.commit(enqueueItem("c", replace))).toMatchObject(replaced);
        const held = await run(setup, "b");
        await enqueue(setup, enqueueItem("d", replace), "started");
        await setup.complete(held);
        await setup.complete(await run(setup, "d"));
        await enqueue(setup, enqueueItem("e", unique("fail")), "started");
      },
    },
    {
      title: "the key stays with the next instance although the first one was deleted",
      async run(setup) {
        await setup.complete(await waiting(setup));
        await setup.provider.deleteInstance({ id: "a", force: false });
        expect(await setup.commit(enqueueItem("c", unique("fail")))).toMatchObject({ id: "b" });
        await setup.complete(await run(setup, "b"));
        await setup.provider.deleteInstance({ id: "b", force: false });
        await enqueue(setup, enqueueItem("c", unique("fail")), "started");
      },
    },
    {
      title: "a waiting instance with a delay begins at its time, if that is later than the end",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", replace), "started");
        const held = await run(setup, "a");
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("b", replace, { delayMs: 5_000 }), "started");
        await setup.environment.advance(1_000);
        await setup.complete(held);
        expect((await startOf(setup, "b")).message.visibleAt).toBe(at + 5_000);
        await setup.leaseNothing();
        await setup.environment.advance(4_000);
        await setup.leaseOnly("b");
      },
    },
    {
      title: "a waiting instance without a delay begins at the end, although the clock went back",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", replace), "started");
        const held = await run(setup, "a");
        await enqueue(setup, enqueueItem("b", replace), "started");
        setup.environment.jumpWallClock(-24 * 3_600_000);
        await setup.complete(held);
        await setup.leaseOnly("b");
      },
    },
    {
      title: "a cancel ends the waiting instance at once, and the next call inserts another one",
      async run(setup) {
        const held = await waiting(setup);
        await setup.commit(cancelItem("b"));
        expect(await setup.read("b")).toMatchObject({ status: "cancelled" });
        await enqueue(setup, enqueueItem("c", replace), "started");
        await setup.commit(terminateItem("c"));
        await setup.provider.deleteInstance({ id: "c", force: false });
        await enqueue(setup, enqueueItem("d", replace), "started");
        await setup.complete(held);
        await setup.leaseOnly("d");
      },
    },
    {
      title: "the end of an instance whose waiting instance was deleted succeeds",
      async run(setup) {
        const held = await waiting(setup);
        await setup.provider.deleteInstance({ id: "b", force: true });
        await setup.complete(held);
        await setup.leaseNothing();
        await enqueue(setup, enqueueItem("c", unique("fail")), "started");
      },
    },
    {
      title: "events for the waiting instance do not make it due, and are delivered with its start",
      async run(setup) {
        const held = await waiting(setup);
        await setup.commit(sendItem({ id: "b", name: "one" }));
        await setup.leaseNothing();
        await setup.complete(held);
        const { messages } = await setup.leaseOnly("b", BETA);
        expect(messages.map(({ name, kind }) => name ?? kind)).toEqual(["start", "one"]);
        expect(messages.some(({ damaged }) => damaged === true)).toBe(false);
      },
    },
    {
      title: "an end and a keyed start in one group take effect in their order",
      async run(setup) {
        const held = await waiting(setup);
        const { provider } = setup;
        const results = await provider.commit([
          enqueueItem("c", replace, { input: "2" }),
          terminateItem("a"),
          enqueueItem("d", replace, { input: "3" }),
          enqueueItem("e", unique("fail"), { input: "4" }),
        ]);
        expect(results).toMatchObject([
          { kind: "replaced", id: "b", execution: 1 },
          { kind: "done" },
          { kind: "replaced", id: "b", execution: 2 },
          { kind: "refused", id: "b" },
        ]);
        expect((await startOf(setup, "b")).input).toBe("3");
        expect(await setup.read("a")).toMatchObject({ status: "terminated", key: held.key });
      },
    },
  ],
};
