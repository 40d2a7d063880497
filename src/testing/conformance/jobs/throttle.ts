// Contract of throttled starts: a call within a window starts nothing, or one trailing instance
// (provider.enqueue.4).

import { expect } from "vitest";
import type { EnqueueKey } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { cancelItem, terminateItem } from "../fixture.ts";
import { begin, enqueue, enqueueItem, run, startOf } from "./job-steps.ts";

const PER = 1_000;
const key = (perMs = PER): EnqueueKey => ({ kind: "throttle", key: "k", perMs, trailing: false });
const trailing = (perMs = PER): EnqueueKey => ({
  kind: "throttle",
  key: "k",
  perMs,
  trailing: true,
});

export const throttledStarts: ContractSubject = {
  subject: "throttled starts",
  cases: [
    {
      title: "the first call inserts an instance that is due at once, and opens a window",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key()), "started");
        await setup.complete(await run(setup, "a"));
        const { key: number } = await setup.read("a");
        await setup.environment.advance(PER - 1);
        const existing = { kind: "existing", id: "a", key: number, execution: 1 };
        expect(await setup.commit(enqueueItem("b", key()))).toEqual(existing);
        expect(await setup.provider.readInstance("b")).toBeNull();
        await setup.environment.advance(1);
        await enqueue(setup, enqueueItem("c", key()), "started");
        await setup.leaseOnly("c");
      },
    },
    {
      title: "a window counts although its instance was deleted",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key()), "started");
        await setup.complete(await run(setup, "a"));
        await setup.provider.deleteInstance({ id: "a", force: false });
        await enqueue(setup, enqueueItem("b", key()), "existing");
        expect(await setup.commit(enqueueItem("b", key()))).toMatchObject({ id: "a" });
        await setup.environment.advance(PER);
        await enqueue(setup, enqueueItem("b", key()), "started");
      },
    },
    {
      title: "the length of a window is that of the call that opened it",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key(PER)), "started");
        await setup.environment.advance(PER - 1);
        await enqueue(setup, enqueueItem("b", key(1)), "existing");
        await setup.environment.advance(1);
        await enqueue(setup, enqueueItem("b", key(10 * PER)), "started");
        await setup.environment.advance(9 * PER);
        await enqueue(setup, enqueueItem("c", key(PER)), "existing");
      },
    },
    {
      title: "trailing: a call within the window inserts one more instance, due at its end",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", trailing()), "started");
        await begin(setup, "a");
        await setup.environment.advance(300);
        const first = enqueueItem("b", trailing(), { input: "1" });
        expect(await setup.commit(first)).toMatchObject({ kind: "started", id: "b", execution: 1 });
        expect((await startOf(setup, "b")).message.visibleAt).toBe(at + PER);
        await setup.environment.advance(300);
        const second = enqueueItem("c", trailing(), { input: "2", attributes: { n: "2" } });
        expect(await setup.commit(second)).toMatchObject({ kind: "existing", id: "b" });
        const { message, input } = await startOf(setup, "b");
        expect([message.visibleAt, input]).toEqual([at + PER, "2"]);
        expect(await setup.read("b")).toMatchObject({ attributes: { n: "2" } });
        expect(await setup.provider.readInstance("c")).toBeNull();
        expect(await setup.commit(enqueueItem("d", key()))).toMatchObject({ id: "a" });
        await setup.environment.advance(399);
        await setup.leaseNothing();
        await setup.environment.advance(1);
        await setup.leaseOnly("b");
      },
    },
    {
      title:
        "trailing: the trailing instance opens the next window, and calls replace it until it begins",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", trailing()), "started");
        await begin(setup, "a");
        await enqueue(setup, enqueueItem("b", trailing()), "started");
        await setup.environment.advance(PER);
        const atEnd = { kind: "existing", id: "b" };
        expect(await setup.commit(enqueueItem("c", key()))).toMatchObject(atEnd);
        await setup.environment.advance(100);
        expect(await setup.commit(enqueueItem("c", key()))).toMatchObject({
          kind: "existing",
          id: "b",
        });
        const late = enqueueItem("c", trailing(), { input: "late" });
        expect(await setup.commit(late)).toMatchObject({ kind: "existing", id: "b" });
        const { message, input } = await startOf(setup, "b");
        expect([message.visibleAt, input]).toEqual([at + PER, "late"]);
        await begin(setup, "b");
        const next = enqueueItem("c", trailing());
        expect(await setup.commit(next)).toMatchObject({ kind: "started", id: "c" });
        expect((await startOf(setup, "c")).message.visibleAt).toBe(at + 2 * PER);
        await setup.environment.advance(PER);
        await begin(setup, "c");
        await setup.environment.advance(PER);
        await enqueue(setup, enqueueItem("d", trailing()), "started");
        expect((await startOf(setup, "d")).message.visibleAt).toBe(setup.environment.now());
      },
    },
    {
      title:
        "trailing: after the window of a trailing instance that has not begun, a call starts at once",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", trailing()), "started");
        await enqueue(setup, enqueueItem("b", trailing()), "started");
        await setup.environment.advance(2 * PER);
        await enqueue(setup, enqueueItem("c", trailing()), "started");
        expect((await startOf(setup, "c")).message.visibleAt).toBe(setup.environment.now());
        expect(await setup.read("b")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "trailing: a trailing instance that was cancelled is inserted again",
      async run(setup) {
        const at = setup.environment.now();
        await enqueue(setup, enqueueItem("a", trailing()), "started");
        await enqueue(setup, enqueueItem("b", trailing()), "started");
        await setup.commit(cancelItem("b"));
        await enqueue(setup, enqueueItem("c", trailing()), "started");
        await setup.commit(terminateItem("c"));
        await setup.provider.deleteInstance({ id: "c", force: true });
        await enqueue(setup, enqueueItem("d", trailing()), "started");
        expect((await startOf(setup, "d")).message.visibleAt).toBe(at + PER);
      },
    },
    {
      title:
        "a window that the clock goes back into still counts, and one that it goes back behind does not",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", key()), "started");
        setup.environment.jumpWallClock(1 - PER);
        await enqueue(setup, enqueueItem("b", key()), "existing");
        setup.environment.jumpWallClock(-1);
        await enqueue(setup, enqueueItem("b", key()), "started");
        await enqueue(setup, enqueueItem("c", key()), "existing");
        setup.environment.jumpWallClock(24 * 3_600_000);
        await enqueue(setup, enqueueItem("c", key()), "started");
      },
    },
  ],
};
