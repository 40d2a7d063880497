// Contract of debounced starts: a call replaces a pending start and moves its time (provider.enqueue.3).

import { expect } from "vitest";
import type { EnqueueKey } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, cancelItem, sendItem } from "../fixture.ts";
import { begin, enqueue, enqueueItem, startOf } from "./job-steps.ts";

const key = (waitMs: number, maxMs: number | null = null): EnqueueKey => ({
  kind: "debounce",
  key: "k",
  waitMs,
  maxMs,
});

export const debouncedStarts: ContractSubject = {
  subject: "debounced starts",
  cases: [
    {
      title: "the first call inserts an instance that is due after the wait",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", key(1_000)), "started");
        expect((await startOf(setup, "a")).message.visibleAt).toBe(at + 1_000);
        await setup.environment.advance(999);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        await setup.leaseOnly("a");
      },
    },
    {
      title: "a call while the instance is pending replaces its start in place and moves its time",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(1_000), { input: "1" }), "started");
        const { key: number } = await setup.read("a");
        await setup.environment.advance(900);
        const item = enqueueItem("b", key(1_000), {
          input: "2",
          attributes: { color: "red" },
          priority: 1,
        });
        const existing = { kind: "existing", id: "a", key: number, execution: 1 };
        expect(await setup.commit(item)).toEqual(existing);
        expect(await setup.provider.readInstance("b")).toBeNull();
        const record = await setup.read("a");
        expect(record).toMatchObject({ status: "pending", execution: 1, priority: 1 });
        expect(record).toMatchObject({ attributes: { color: "red" }, runId: item.start.runId });
        expect((await startOf(setup, "a")).input).toBe("2");
        expect(await setup.inboxKinds(number)).toEqual(["start"]);
        await setup.environment.advance(999);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        await begin(setup, "a");
      },
    },
    {
      title: "the instance becomes due at the latest after the maximum since the first call",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", key(1_000, 1_500)), "started");
        for (let call = 0; call < 3; call++) {
          await setup.environment.advance(400);
          await enqueue(setup, enqueueItem(`b${call}`, key(1_000, 1_500)), "existing");
        }
        expect((await startOf(setup, "a")).message.visibleAt).toBe(at + 1_500);
        await setup.environment.advance(400);
        await enqueue(setup, enqueueItem("c", key(1_000, 1_500), { input: "last" }), "existing");
        const { message, input } = await startOf(setup, "a");
        expect(message.visibleAt).toBe(at + 1_600); // not in the past
        expect(input).toBe("last");
        await setup.leaseOnly("a");
      },
    },
    {
      title:
        "once the instance has begun, or is leased, the next call inserts a new one with its own maximum",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(100, 150)), "started");
        await setup.environment.advance(100);
        await setup.leaseOnly("a", ALPHA);
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("b", key(100, 150), { input: "b" }), "started");
        expect((await startOf(setup, "b")).message.visibleAt).toBe(at + 100);
        await setup.environment.advance(90);
        await enqueue(setup, enqueueItem("c", key(100, 150)), "existing");
        expect((await startOf(setup, "b")).message.visibleAt).toBe(at + 150);
        expect(await setup.read("a")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "a call after the instance was cancelled inserts a new one",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(1_000)), "started");
        await setup.commit(cancelItem("a"));
        expect(await setup.read("a")).toMatchObject({ status: "cancelled" });
        await enqueue(setup, enqueueItem("b", key(1_000)), "started");
        await setup.environment.advance(1_000);
        await setup.commit(cancelItem("b")); // it is due, so its code handles the request
        await enqueue(setup, enqueueItem("c", key(1_000)), "started");
      },
    },
    {
      title: "events for the instance move with its start and do not make it due",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(1_000)), "started");
        await setup.commit(sendItem({ id: "a", name: "one" }));
        await setup.commit(sendItem({ id: "a", name: "two" }));
        await setup.environment.advance(500);
        await enqueue(setup, enqueueItem("b", key(1_000)), "existing");
        await setup.environment.advance(999);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ name, kind }) => name ?? kind)).toEqual(["start", "one", "two"]);
        expect(messages.some(({ damaged }) => damaged === true)).toBe(false);
      },
    },
    {
      title: "a shorter wait moves the time forward",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(60_000)), "started");
        await enqueue(setup, enqueueItem("b", key(10)), "existing");
        await setup.environment.advance(10);
        await setup.leaseOnly("a");
      },
    },
    {
      title: "after the clock jumps, a call still moves the time to its wait after the call",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(1_000, 10_000)), "started");
        setup.environment.jumpWallClock(-24 * 3_600_000);
        await enqueue(setup, enqueueItem("b", key(1_000, 10_000)), "existing");
        const at = setup.environment.now();
        expect((await startOf(setup, "a")).message.visibleAt).toBe(at + 1_000);
        await setup.leaseNothing();
        setup.environment.jumpWallClock(48 * 3_600_000);
        await enqueue(setup, enqueueItem("c", key(1_000, 10_000)), "existing");
        await setup.leaseOnly("a"); // its maximum is over
      },
    },
    {
      title: "a fraction of a millisecond is rounded up",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", key(0.2)), "started");
        expect((await startOf(setup, "a")).message.visibleAt).toBe(at + 1);
      },
    },
  ],
};
