// Contract of appends: an activity appends values to a stream of its instance, under the claim of its task
// (provider.streams.1, provider.streams.2).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import {
  BETA,
  cancelItem,
  claimOf,
  eventText,
  fresh,
  LEASE_LOST,
  outcomeText,
  TASK_LEASE,
  terminateItem,
} from "../fixture.ts";
import {
  append,
  appended,
  appendItem,
  leaseAgain,
  nextAttempt,
  page,
  read,
  TOKENS,
  v,
  writingCall,
} from "./stream-steps.ts";

export const appends: ContractSubject = {
  subject: "appends to streams",
  cases: [
    {
      title: "offsets are dense and begin with 0, in the order of the appends",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1, 2]);
        await appended(setup, task, [3], { position: 2 });
        await appended(setup, task, [4, 5], { position: 3 });
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2", "2:2=3", "3:2=4", "4:2=5"]);
        expect(await page(setup)).toMatchObject({ first: 0, next: 5, isOver: false });
      },
    },
    {
      title: "appends of one group are written in order, and one refused append affects no other",
      async run(setup) {
        const { task } = await writingCall(setup);
        const stale = { ...task, token: fresh() };
        const results = await setup.provider.commit([
          appendItem(task, [1]),
          appendItem(stale, ["lost"], { run: "run-0" }),
          appendItem(task, [2], { position: 1 }),
          appendItem(task, ["other"], { name: "other" }),
          appendItem(task, [3], { position: 2 }),
        ]);
        const done = { kind: "done" };
        expect(results).toEqual([done, LEASE_LOST, done, done, done]);
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2", "2:2=3"]);
        expect(await read(setup, "a", "other")).toEqual(['0:2="other"']);
      },
    },
    {
      title: "a repeated append writes nothing (I14)",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1, 2]);
        await appended(setup, task, [1, 2]);
        await appended(setup, task, [3], { position: 2 });
        await appended(setup, task, [1, 2]);
        await appended(setup, task, [2, 3], { position: 1 });
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2", "2:2=3"]);
      },
    },
    {
      title: "an append writes only the values that are not there yet (I14)",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1, 2]);
        await appended(setup, task, [2, 3, 4], { position: 1 });
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2", "2:2=3", "3:2=4"]);
      },
    },
    {
      title: "the same append twice in one group is written once",
      async run(setup) {
        const { task } = await writingCall(setup);
        const item = appendItem(task, [1]);
        expect(await setup.provider.commit([item, item])).toEqual([
          { kind: "done" },
          { kind: "done" },
        ]);
        expect(await read(setup)).toEqual(["0:2=1"]);
      },
    },
    {
      title: "settle finds an append that was written, and no other",
      async run(setup) {
        const { task } = await writingCall(setup);
        const first = appendItem(task, [1, 2]);
        expect(await setup.provider.settle(first)).toBeNull();
        await setup.commit(first);
        expect(await setup.provider.settle(first)).toEqual({ kind: "done" });
        const next = appendItem(task, [3], { position: 2 });
        expect(await setup.provider.settle(next)).toBeNull();
        expect(await setup.provider.settle({ ...first, run: "run-2" })).toBeNull();
        expect(await setup.provider.settle({ ...first, name: "other" })).toBeNull();
        const longer = appendItem(task, [1, 2, 3]);
        expect(await setup.provider.settle(longer)).toBeNull();
        await appended(setup, task, [1, 2, 3]);
        expect(await setup.provider.settle(next)).toEqual({ kind: "done" });
      },
    },
    {
      title: "settle finds an append whose call has completed since",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        const item = appendItem(task, [1]);
        await setup.commit(item);
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "an append with another token is refused, also after earlier appends of its run (I2)",
      async run(setup) {
        const { task } = await writingCall(setup);
        const other = { ...task, token: fresh() };
        expect(await append(setup, other, [1])).toEqual(LEASE_LOST);
        expect(await setup.provider.listStreams("a")).toEqual([]);
        await appended(setup, task, [1]);
        expect(await append(setup, other, [2], { position: 1 })).toEqual(LEASE_LOST);
        const current = await leaseAgain(setup, task);
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        expect(await read(setup)).toEqual(["0:2=1"]);
        await appended(setup, current, [2], { run: "run-2" });
      },
    },
    {
      title: "an append of a task that no worker holds is refused",
      async run(setup) {
        const { task } = await setup.holdTask("a");
        expect(await append(setup, claimOf(task), [1])).toEqual(LEASE_LOST);
        expect(await setup.provider.listStreams("a")).toEqual([]);
      },
    },
    {
      title: "an append whose task was completed, cancelled or never existed is refused",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, next, [1]);
        await setup.turn(held, { cancelledTasks: [next.sequence] });
        expect(await append(setup, next, [2], { position: 1 })).toEqual(LEASE_LOST);
        expect(await append(setup, { ...task, sequence: 99 }, [1])).toEqual(LEASE_LOST);
        expect(await append(setup, { ...task, key: task.key + 99 }, [1])).toEqual(LEASE_LOST);
        expect(await append(setup, { ...task, execution: 9 }, [1])).toEqual(LEASE_LOST);
        expect(await read(setup)).toEqual(["0:2=1", "1:3=1"]);
      },
    },
    {
      title: "an append after the end of the instance is refused",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.commit(terminateItem("a"));
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        expect(await page(setup)).toMatchObject({ next: 1, isOver: true });
      },
    },
    {
      title: "an append after the death of its runtime is refused",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.die(TASK_LEASE.owner);
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        const { tasks } = await setup.leaseTasks(BETA, { allowSuspect: true });
        expect(tasks).toHaveLength(1);
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
      },
    },
    {
      title: "an append that leaves a gap after the values of its run is refused",
      async run(setup) {
        const { task } = await writingCall(setup);
        expect(await append(setup, task, [9], { position: 1 })).toEqual(LEASE_LOST);
        await appended(setup, task, [1]);
        expect(await append(setup, task, [9], { position: 2 })).toEqual(LEASE_LOST);
        expect(await append(setup, task, [9], { position: 1, run: "run-0" })).toEqual(LEASE_LOST);
        expect(await read(setup)).toEqual(["0:2=1"]);
      },
    },
    {
      title: "another run of a call writes a reset before its values (provider.streams.3)",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1, 2]);
        const second = await nextAttempt(setup, task);
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2"]);
        await appended(setup, second, [1, 2], { run: "run-2" });
        await appended(setup, second, [3], { run: "run-2", position: 2 });
        const third = await nextAttempt(setup, second);
        await appended(setup, third, [1], { run: "run-3" });
        expect(await read(setup)).toEqual([
          ...["0:2=1", "1:2=2"],
          ...["2:2 reset 0", "3:2=1", "4:2=2", "5:2=3"],
          ...["6:2 reset 0", "7:2=1"],
        ]);
        expect(await page(setup)).toMatchObject({ next: 8 });
      },
    },
    {
      title: "another run with the same attempt number writes a reset too",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const again = await leaseAgain(setup, task);
        await appended(setup, again, [1], { run: "run-2" });
        await appended(setup, again, [1], { run: "run-2" });
        expect(await read(setup)).toEqual(["0:2=1", "1:2 reset 0", "2:2=1"]);
      },
    },
    {
      title: "a run that wrote nothing before it was repeated causes no reset",
      async run(setup) {
        const { task } = await writingCall(setup);
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [1], { run: "run-2" });
        expect(await read(setup)).toEqual(["0:2=1"]);
      },
    },
    {
      title: "a reset names the first item of its own call, also if calls write alternately",
      async run(setup) {
        const { held, task: first } = await writingCall(setup);
        const second = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, first, ["a"]);
        await appended(setup, second, ["x"]);
        await appended(setup, first, ["b"], { position: 1 });
        await appended(setup, second, ["y"], { position: 1 });
        const again = await nextAttempt(setup, second);
        await appended(setup, again, ["x"], { run: "run-2" });
        await appended(setup, first, ["c"], { position: 2 });
        expect(await read(setup)).toEqual([
          ...['0:2="a"', '1:3="x"', '2:2="b"', '3:3="y"'],
          ...["4:3 reset 1", '5:3="x"', '6:2="c"'],
        ]);
      },
    },
    {
      title: "a reset in one stream changes no other stream of the call",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await appended(setup, task, [2], { name: "other" });
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [1], { run: "run-2" });
        expect(await read(setup)).toEqual(["0:2=1", "1:2 reset 0", "2:2=1"]);
        expect(await read(setup, "a", "other")).toEqual(["0:2=2"]);
      },
    },
    {
      title: "appends change only the stream of their instance",
      async run(setup) {
        const { task } = await writingCall(setup, "a");
        const { task: other } = await writingCall(setup, "b");
        await appended(setup, task, [1]);
        await appended(setup, other, [2, 3]);
        await appended(setup, task, [4], { position: 1 });
        expect(await read(setup, "a")).toEqual(["0:2=1", "1:2=4"]);
        expect(await read(setup, "b")).toEqual(["0:2=2", "1:2=3"]);
        const result = await setup.provider.deleteInstance({ id: "b", force: true });
        expect(result).toMatchObject({ kind: "deleted" });
        expect(await read(setup, "a")).toEqual(["0:2=1", "1:2=4"]);
      },
    },
    {
      title: "calls of two executions with the same sequence are different calls",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const { due } = await continueAsNew(setup, held);
        await setup.turn(held, { events: [eventText()], consumed: due.map(({ id }) => id) });
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        expect(next).toEqual({ ...task, execution: 2 });
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        await appended(setup, next, [3]);
        expect(await read(setup)).toEqual(["0:2=1", "1:2=3"]);
        const { chunks } = await page(setup);
        expect(chunks).toMatchObject([{ execution: 1 }, { execution: 2 }]);
      },
    },
    {
      title: "a cancel request and a pause do not stop the appends of a running attempt",
      async run(setup) {
        const { task } = await writingCall(setup);
        await setup.commit({ kind: "pause", id: "a", info: "{}" });
        await appended(setup, task, [1]);
        await setup.commit(cancelItem("a"));
        await appended(setup, task, [2], { position: 1 });
        expect(await read(setup)).toEqual(["0:2=1", "1:2=2"]);
      },
    },
    {
      title: "values of any content come back unchanged, also many and long ones",
      async run(setup) {
        const { task } = await writingCall(setup);
        const texts = ["", "ä€𝄞", "\u0000\n\"\\',", "x".repeat(100_000), "[1]"];
        const many = Array.from({ length: 500 }, (_, index) => String(index));
        await appended(setup, task, [...texts, ...many], { name: "näme 'x' \"y\"" });
        const { chunks } = await page(setup, { name: "näme 'x' \"y\"" });
        expect(chunks).toEqual([
          expect.objectContaining({ values: [...texts, ...many].map(v), count: 505 }),
        ]);
        expect(await page(setup, { name: TOKENS })).toMatchObject({ next: 0, chunks: [] });
      },
    },
    {
      title: "appends through two providers have dense offsets",
      needs: ["reopen"],
      async run(setup) {
        const { held, task: first } = await writingCall(setup);
        const second = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        const other = await setup.another();
        for (let position = 0; position < 20; position++) {
          const results = await setup.drive(
            Promise.all([
              setup.provider.commit([appendItem(first, [position], { position })]),
              other.commit([appendItem(second, [position], { position })]),
            ]),
          );
          expect(results.flat()).toEqual([{ kind: "done" }, { kind: "done" }]);
        }
        const found = await read(setup);
        expect(found).toHaveLength(40);
        expect(found.map((entry) => Number.parseInt(entry))).toEqual([...found.keys()]);
      },
    },
  ],
};
