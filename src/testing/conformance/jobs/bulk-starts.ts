// Contract of bulk starts: all jobs of an item are written, or none (provider.enqueue.5).

import { expect } from "vitest";
import type { EnqueueItem, EnqueueManyItem, StartItem } from "../../../core/provider/index.ts";
import { JOB_VERSION } from "../../../core/ids/semver.ts";
import type { ContractSubject } from "../contract-case.ts";
import { BETA, CHARGE, keepItem, sendItem, startItem, TASK_LEASE } from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { jobEnd, jobStart } from "./job-items.ts";
import { enqueueItem, unique } from "./job-steps.ts";

function bulkOf(...starts: readonly (StartItem | EnqueueItem)[]): EnqueueManyItem {
  return { kind: "enqueueMany", starts };
}

const JOB_TARGETS = [CHARGE, `${CHARGE}@${JOB_VERSION}`];

const exists = (index: number) => ({ kind: "refused", code: "INSTANCE_EXISTS", index }) as const;

async function idsOf({ provider }: Setup): Promise<string[]> {
  const request = { filter: {}, order: "oldest", limit: 2_000, cursor: null } as const;
  return (await provider.findInstances(request)).items.map(({ id }) => id);
}

export const bulkStarts: ContractSubject = {
  subject: "bulk starts",
  cases: [
    {
      title: "one item writes many jobs, each with its first turn and its task",
      async run(setup) {
        const names = Array.from({ length: 1_000 }, (_, index) => `job-${index}`);
        const starts = names.map((id) => jobStart({ id }));
        expect(await setup.commit(bulkOf(...starts))).toEqual({ kind: "enqueued", ids: names });
        expect(await idsOf(setup)).toEqual(names);
        const record = await setup.read("job-500");
        expect(record).toMatchObject({
          ...{ status: "running", version: JOB_VERSION, lastEvent: 2, owner: null },
          runId: starts[500]?.runId,
        });
        expect(record).not.toHaveProperty("damaged");
        expect(await setup.eventKinds({ key: record.key, execution: 1 })).toHaveLength(2);
        expect(await setup.inboxKinds(record.key)).toEqual([]);
        const metrics = await setup.provider.readMetrics();
        expect(metrics).toMatchObject({ executions: 1_000, events: 2_000, waitingTasks: 1_000 });
        expect(metrics.instances.running).toBe(1_000);
        const { tasks } = await setup.leaseTasks(BETA, { limit: 2_000 });
        expect(tasks.map(({ instanceId }) => instanceId).toSorted()).toEqual(names.toSorted());
        expect(tasks.some(({ undecodable }) => undecodable === true)).toBe(false);
        const results = await setup.provider.commit(tasks.slice(0, 3).map((task) => jobEnd(task)));
        expect(results.map(({ kind }) => kind)).toEqual(["committed", "committed", "committed"]);
      },
    },
    {
      title: "if an id exists, nothing of the item is written, and the result names its index",
      async run(setup) {
        await setup.start("taken");
        const starts = ["a", "b", "taken", "c"].map((id) => jobStart({ id }));
        expect(await setup.commit(bulkOf(...starts))).toEqual(exists(2));
        const twice = ["d", "e", "d"].map((id) => jobStart({ id }));
        expect(await setup.commit(bulkOf(...twice))).toEqual(exists(2));
        expect(await idsOf(setup)).toEqual(["taken"]);
        await setup.leaseNoTask();
        const metrics = await setup.provider.readMetrics();
        expect(metrics).toMatchObject({ executions: 1, events: 0 });
        const again = ["a", "b"].map((id) => jobStart({ id }));
        expect(await setup.commit(bulkOf(...again))).toMatchObject({ kind: "enqueued" });
        expect(await setup.commit(bulkOf(jobStart({ id: "a" })))).toEqual(exists(0));
      },
    },
    {
      title: "a repeated item returns the ids of the first one, and settle finds it (I14)",
      async run(setup) {
        const item = bulkOf(...["a", "b"].map((id) => jobStart({ id })));
        expect(await setup.provider.settle(item)).toBeNull();
        const result = await setup.commit(item);
        expect(result).toEqual({ kind: "enqueued", ids: ["a", "b"] });
        expect(await setup.provider.settle(item)).toEqual(result);
        expect(await setup.commit(item)).toEqual(result);
        expect((await setup.leaseTasks()).tasks).toHaveLength(2);
        expect(await setup.provider.settle(bulkOf(jobStart({ id: "a" })))).toBeNull();
      },
    },
    {
      title: "settle and a repeated item name the instances that keyed starts met (I14)",
      async run(setup) {
        await setup.commit(enqueueItem("holder", unique()));
        const mixed = bulkOf(
          jobStart({ id: "plain" }),
          enqueueItem("met", unique()),
          enqueueItem("new", unique("fail", "other")),
        );
        const result = await setup.commit(mixed);
        expect(result).toEqual({ kind: "enqueued", ids: ["plain", "holder", "new"] });
        expect(await setup.provider.settle(mixed)).toEqual(result);
        expect(await setup.commit(mixed)).toEqual(result);
        const keyed = bulkOf(
          enqueueItem("met", unique()),
          enqueueItem("only", unique("fail", "o")),
        );
        expect(await setup.provider.settle(keyed)).toBeNull();
        const enqueued = await setup.commit(keyed);
        expect(enqueued).toEqual({ kind: "enqueued", ids: ["holder", "only"] });
        expect(await setup.provider.settle(keyed)).toEqual(enqueued);
        expect(await setup.commit(keyed)).toEqual(enqueued);
        expect((await idsOf(setup)).toSorted()).toEqual(["holder", "new", "only", "plain"]);
      },
    },
    {
      title: "an item may contain delayed jobs, early messages and leased tasks",
      async run(setup) {
        await setup.commit(keepItem({ id: "early" }));
        const lease = { owner: "runtime-unknown", token: 5 };
        const item = bulkOf(
          jobStart({ id: "now" }),
          jobStart({ id: "later", delayMs: 1_000 }),
          jobStart({ id: "early" }),
          jobStart({ id: "leased", task: { lease: TASK_LEASE } }),
          jobStart({ id: "unknown", task: { lease } }),
          startItem({ id: "plain", name: CHARGE }),
        );
        const ids = ["now", "later", "early", "leased", "unknown", "plain"];
        expect(await setup.commit(item)).toEqual({ kind: "enqueued", ids });
        expect(await idsOf(setup)).toHaveLength(ids.length);
        const { key } = await setup.read("early");
        expect(await setup.inboxKinds(key)).toContain("event");
        expect(await setup.read("later")).toMatchObject({ status: "pending" });
        const { instances } = await setup.lease(BETA, { targets: JOB_TARGETS });
        expect(instances.map(({ id }) => id)).toEqual(expect.arrayContaining(["early", "plain"]));
        expect(instances.map(({ id }) => id)).not.toContain("later");
        // A store may ignore the first turns of such an item.
        const begun = new Set(instances.map(({ id }) => id));
        const { tasks } = await setup.leaseTasks();
        for (const { instanceId } of tasks) begun.add(instanceId);
        const leased = await setup.read("leased");
        const held = await setup.provider.readTasks({ key: leased.key, execution: 1 });
        if (held.length > 0) begun.add("leased");
        expect([...begun].toSorted()).toEqual(["early", "leased", "now", "plain", "unknown"]);
      },
    },
    {
      title: "tasks that are leased with their jobs are not in the queue",
      async run(setup) {
        const task = { lease: TASK_LEASE };
        const starts = ["a", "b"].map((id) => jobStart({ id, task }));
        await setup.commit(bulkOf(...starts));
        await setup.leaseNoTask();
        const { key } = await setup.read("a");
        const claim = { key, execution: 1, sequence: 2, token: TASK_LEASE.token };
        expect(await setup.commit(jobEnd(claim))).toMatchObject({ kind: "committed" });
      },
    },
    {
      title: "in a group, a refused item does not affect the others",
      async run(setup) {
        await setup.start("taken");
        const results = await setup.provider.commit([
          jobStart({ id: "a" }),
          bulkOf(jobStart({ id: "b" }), jobStart({ id: "taken" })),
          sendItem({ id: "taken" }),
          bulkOf(jobStart({ id: "c" }), jobStart({ id: "d" })),
          jobStart({ id: "e" }),
        ]);
        expect(results).toMatchObject([
          { kind: "started" },
          exists(1),
          { kind: "done" },
          { kind: "enqueued", ids: ["c", "d"] },
          { kind: "started" },
        ]);
        expect((await idsOf(setup)).toSorted()).toEqual(["a", "c", "d", "e", "taken"]);
      },
    },
    {
      title: "listeners are notified of the tasks of new jobs",
      async run(setup) {
        const seen: boolean[] = [];
        const stop = setup.provider.subscribe(({ tasks }) => seen.push(tasks));
        await setup.commit(bulkOf(jobStart({ id: "a" }), jobStart({ id: "b" })));
        stop();
        expect(seen).toContain(true);
      },
    },
    {
      title: "of two items with a common id that are written at the same time, one is refused",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const items = ["a", "b"].map((prefix) =>
          bulkOf(...[`${prefix}1`, "common", `${prefix}2`].map((id) => jobStart({ id }))),
        );
        const [first, second] = await setup.drive(
          Promise.all([setup.provider.commit(items.slice(0, 1)), other.commit(items.slice(1))]),
        );
        const results = [first?.[0], second?.[0]];
        const refused = results.filter((result) => result?.kind === "refused");
        expect(refused).toEqual([exists(1)]);
        expect(await idsOf(setup)).toHaveLength(3);
      },
    },
  ],
};
