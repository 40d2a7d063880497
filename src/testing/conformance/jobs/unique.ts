// Contract of unique starts: at most one instance of a key is pending or running (provider.enqueue.2).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { JOB_VERSION } from "../../../core/ids/semver.ts";
import type { EnqueueItem } from "../../../core/provider/index.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  fresh,
  keepItem,
  LEASE_LOST,
  startItem,
  TARGETS,
  turnItem,
} from "../fixture.ts";
import { jobEnd, jobStart } from "./job-items.ts";
import { begin, enqueue, enqueueItem, run, startOf, unique } from "./job-steps.ts";

const JOB_TARGETS = [CHARGE, `${CHARGE}@${JOB_VERSION}`];

export const uniqueStarts: ContractSubject = {
  subject: "unique starts",
  cases: [
    {
      title: "the first start under a key inserts an instance that is due at once",
      async run(setup) {
        const item = enqueueItem("a", unique(), { attributes: { color: "red" }, priority: 2 });
        const { key } = await setup.commit(item).then((result) => {
          expect(result).toMatchObject({ kind: "started", id: "a", execution: 1, leased: null });
          return result as { key: number };
        });
        const record = await setup.read("a");
        expect(record).toMatchObject({ key, status: "pending", priority: 2 });
        expect(record.attributes).toEqual({ color: "red" });
        await setup.leaseOnly("a");
      },
    },
    {
      title: "a job that is due at once is in the queue or due, also with an early message",
      async run(setup) {
        await setup.commit(keepItem({ id: "early" }));
        for (const id of ["a", "early"]) {
          const item: EnqueueItem = {
            kind: "enqueue",
            start: jobStart({ id }),
            key: unique("replace", id),
          };
          await enqueue(setup, item, "started");
        }
        // A store may ignore the first turns.
        const { tasks } = await setup.leaseTasks(BETA);
        const { instances } = await setup.lease(ALPHA, { targets: JOB_TARGETS });
        const begun = new Set([
          ...tasks.map((task) => task.instanceId),
          ...instances.map(({ id }) => id),
        ]);
        expect([...begun].toSorted()).toEqual(["a", "early"]);
        const { key } = await setup.read("early");
        expect(await setup.inboxKinds(key)).toContain("event");
        for (const task of tasks.filter(({ instanceId }) => instanceId === "a")) {
          expect(await setup.inboxKinds(task.key)).toEqual([]);
          expect(await setup.commit(jobEnd(task))).toMatchObject({ kind: "committed" });
          const again = {
            kind: "enqueue",
            start: jobStart({ id: "b" }),
            key: unique("fail", "a"),
          } as const;
          await enqueue(setup, again, "started");
        }
      },
    },
    {
      title: "replace ends a job whose task waits, and its next execution has the new input",
      async run(setup) {
        const item = (id: string): EnqueueItem => ({
          kind: "enqueue",
          start: jobStart({ id }),
          key: unique("replace"),
        });
        await enqueue(setup, item("a"), "started");
        expect(await setup.commit(item("b"))).toMatchObject({
          kind: "replaced",
          id: "a",
          execution: 2,
        });
        await setup.leaseNoTask();
        const kinds = await setup.eventKinds({ key: (await setup.read("a")).key, execution: 1 });
        expect(kinds.at(-1)).toBe("OrchestrationFailed");
        const { instances } = await setup.lease(ALPHA, { targets: JOB_TARGETS });
        expect(instances.map(({ id, execution }) => [id, execution])).toEqual([["a", 2]]);
      },
    },
    {
      title: "useExisting returns the pending or running instance, and the start leaves no trace",
      async run(setup) {
        const started = await enqueue(setup, enqueueItem("a", unique()), "started");
        const existing = { kind: "existing", id: "a", execution: 1 };
        const again = await setup.commit(enqueueItem("b", unique(), { attributes: { x: "y" } }));
        expect(again).toEqual({ ...existing, key: "key" in started ? started.key : 0 });
        await run(setup, "a");
        const record = await setup.read("a");
        expect(await setup.commit(enqueueItem("c", unique()))).toMatchObject(existing);
        expect(await setup.read("a")).toEqual(record);
        expect(await setup.provider.readInstance("b")).toBeNull();
        expect(await setup.provider.readInstance("c")).toBeNull();
      },
    },
    {
      title:
        "fail refuses a start while an instance of the key is pending or running, and names it",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique("fail")), "started");
        const refusal = { kind: "refused", code: "INSTANCE_EXISTS", id: "a" };
        expect(await setup.commit(enqueueItem("b", unique("fail")))).toEqual(refusal);
        await run(setup, "a");
        expect(await setup.commit(enqueueItem("b", unique("fail")))).toEqual(refusal);
        expect(await setup.provider.readInstance("b")).toBeNull();
      },
    },
    {
      title: "after the instance has ended, the next start inserts a new one",
      async run(setup) {
        for (const id of ["a", "b", "c"]) {
          const policy = id === "b" ? "fail" : "useExisting";
          await enqueue(setup, enqueueItem(id, unique(policy)), "started");
          await setup.complete(await run(setup, id));
        }
        expect(await setup.read("a")).toMatchObject({ status: "completed", execution: 1 });
      },
    },
    {
      title: "names, kinds and keys are separate",
      async run(setup) {
        const debounce = { kind: "debounce", key: "k", waitMs: 1_000, maxMs: null } as const;
        const throttle = { kind: "throttle", key: "k", perMs: 1_000, trailing: false } as const;
        const items = [
          enqueueItem("a", unique("fail")),
          enqueueItem("b", unique("fail", "other")),
          enqueueItem("c", unique("fail"), { name: "other" }),
          enqueueItem("d", debounce),
          enqueueItem("e", throttle),
        ];
        for (const item of items) await enqueue(setup, item, "started");
      },
    },
    {
      title: "a start with an id that exists is refused, and the key stays free",
      async run(setup) {
        await setup.start("taken");
        const refusal = { kind: "refused", code: "INSTANCE_EXISTS", id: "taken" };
        expect(await setup.commit(enqueueItem("taken", unique()))).toEqual(refusal);
        await enqueue(setup, enqueueItem("a", unique("fail")), "started");
      },
    },
    {
      title: "a delayed start holds its key and becomes due at its time",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique(), { delayMs: 1_000 }), "started");
        await setup.leaseNothing();
        expect(await setup.commit(enqueueItem("b", unique("fail")))).toMatchObject({ id: "a" });
        await setup.environment.advance(1_000);
        await setup.leaseOnly("a");
      },
    },
    {
      title: "replace restarts a pending instance: same id, next execution, the new input",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique(), { input: "1" }), "started");
        const before = await setup.read("a");
        const item = enqueueItem("b", unique("replace"), {
          input: "2",
          attributes: { color: "blue" },
          priority: 1,
        });
        const replaced = { kind: "replaced", id: "a", key: before.key, execution: 2 };
        const due: string[] = [];
        const stop = setup.provider.subscribe((news) => due.push(...news.due));
        expect(await setup.commit(item)).toEqual(replaced);
        expect(due).toEqual(["a"]);
        stop();
        const { runId } = item.start;
        const record = await setup.read("a");
        expect(record).toMatchObject({ status: "pending", execution: 2, priority: 1, runId });
        expect(record.attributes).toEqual({ color: "blue" });
        const kinds = ["OrchestrationStarted", "OrchestrationFailed"];
        expect(await setup.eventKinds({ key: before.key, execution: 1 })).toEqual(kinds);
        const { input } = await startOf(setup, "a");
        expect(input).toBe("2");
        expect(await setup.provider.readInstance("b")).toBeNull();
        const again = enqueueItem("c", unique("replace"), { delayMs: 500 });
        expect(await setup.commit(again)).toEqual({ ...replaced, execution: 3 });
        await setup.leaseNothing();
        await setup.environment.advance(500);
        await setup.leaseOnly("a");
      },
    },
    {
      title:
        "replace restarts an instance whose activity waits in the queue, and its lease is void",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique()), "started");
        const { held } = await begin(setup, "a");
        await enqueue(setup, enqueueItem("b", unique("replace")), "replaced");
        expect(await setup.commit(turnItem(held))).toEqual(LEASE_LOST);
        await setup.leaseNoTask();
        await begin(setup, "a", { lease: { owner: ALPHA, token: fresh() } });
        expect(await setup.read("a")).toMatchObject({ status: "running", execution: 2 });
      },
    },
    {
      title: "replace takes a leased pending instance from its runtime",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique()), "started");
        const leased = await setup.leaseOnly("a", ALPHA);
        await enqueue(setup, enqueueItem("b", unique("replace")), "replaced");
        const [message] = leased.messages;
        const turn = turnItem(
          { ...leased, lastEvent: 0 },
          { version: "1.0.0", events: [message?.data ?? ""], consumed: [message?.id ?? 0] },
        );
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        await setup.leaseOnly("a", BETA);
      },
    },
    {
      title: "an attempt that was handed back has not begun; one that failed has",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique()), "started");
        await begin(setup, "a");
        const first = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "releaseTask", task: first });
        await enqueue(setup, enqueueItem("b", unique("replace")), "replaced");
        await begin(setup, "a");
        const second = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "retry", task: second, delayMs: 60_000, failure: "{}" });
        await enqueue(setup, enqueueItem("c", unique("replace")), "started");
        expect(await setup.read("a")).toMatchObject({ status: "running", execution: 2 });
      },
    },
    {
      title:
        "a start by id ignores keys: a restarted instance belongs to its key as long as no other one does",
      async run(setup) {
        await enqueue(setup, enqueueItem("a", unique()), "started");
        await setup.complete(await run(setup, "a"));
        await setup.commit(startItem({ id: "a", onConflict: "restart" }));
        expect(await setup.commit(enqueueItem("b", unique("fail")))).toMatchObject({ id: "a" });
        await setup.complete(await run(setup, "a"));
        await enqueue(setup, enqueueItem("b", unique()), "started");
        const restarted = startItem({ id: "a", onConflict: "restart" });
        expect(await setup.commit(restarted)).toMatchObject({ kind: "started", execution: 3 });
        expect(await setup.commit(enqueueItem("c", unique("fail")))).toMatchObject({ id: "b" });
        const { instances } = await setup.lease(ALPHA, { targets: TARGETS });
        expect(instances.map(({ id }) => id).sort()).toEqual(["a", "b"]);
      },
    },
  ],
};
