// Contract of the streams of turns, of closed streams, and of settled items (provider.streams.4,
// provider.streams.5, provider.streams.6).

import { expect } from "vitest";
import type { TaskClaim } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  claimOf,
  completedText,
  eventText,
  fresh,
  LEASE_LOST,
  outcomeText,
  refused,
  startItem,
  TASK_LEASE,
  terminateItem,
  turnItem,
  ALPHA,
} from "../fixture.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import {
  append,
  appended,
  leaseAgain,
  nextAttempt,
  page,
  read,
  states,
  TOKENS,
  v,
  writingCall,
} from "./stream-steps.ts";

const DONE = { kind: "done" };
const CLOSED = refused("STREAM_CLOSED");
const CLOSE = { name: TOKENS, values: [], closes: true } as const;

export const streamsOfTurns: ContractSubject = {
  subject: "streams of turns",
  cases: [
    {
      title: "a turn writes to its streams in order, as call 0",
      async run(setup) {
        const held = await setup.hold("a");
        const streams = [
          { name: TOKENS, values: [v(1), v(2)] },
          { name: "other", values: [v("x")] },
          { name: TOKENS, values: [v(3)] },
        ];
        await setup.turn(held, { events: [eventText()], streams });
        await setup.turn(held, { streams: [{ name: TOKENS, values: [v(4)] }] });
        expect(await read(setup)).toEqual(["0:0=1", "1:0=2", "2:0=3", "3:0=4"]);
        expect(await read(setup, "a", "other")).toEqual(['0:0="x"']);
      },
    },
    {
      title: "a refused turn writes nothing to its streams (I1)",
      async run(setup) {
        const held = await setup.hold("a");
        const streams = [{ name: TOKENS, values: [v(1)], closes: true as const }];
        const stale = turnItem({ ...held, token: fresh() }, { streams });
        expect(await setup.commit(stale)).toEqual(LEASE_LOST);
        const finished = [{ key: held.key, execution: 1, sequence: 7, token: fresh() }];
        expect(await setup.commit(turnItem(held, { streams, finished }))).toEqual(LEASE_LOST);
        expect(await setup.provider.listStreams("a")).toEqual([]);
      },
    },
    {
      title: "the first turn that a start brings writes to streams",
      async run(setup) {
        const token = fresh();
        const held = { id: "a", runId: "r", key: 0, execution: 1, token, lastEvent: 0 };
        const streams = [{ name: TOKENS, values: [v(1)] }];
        const firstTurn = turnItem(held, { events: [eventText()], version: "1.0.0", streams });
        const lease = { owner: ALPHA, token };
        await setup.commit(startItem({ id: "a", lease, firstTurn }));
        expect(await read(setup)).toEqual(["0:0=1"]);
      },
    },
    {
      title: "turns and activities write to one stream",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, ["a"]);
        await setup.turn(held, { streams: [{ name: TOKENS, values: [v("turn")] }] });
        await appended(setup, task, ["b"], { position: 1 });
        const again = await nextAttempt(setup, task);
        await appended(setup, again, ["a"], { run: "run-2" });
        expect(await read(setup)).toEqual([
          ...['0:2="a"', '1:0="turn"', '2:2="b"', "3:2 reset 0", '4:2="a"'],
        ]);
        expect(await states(setup)).toEqual(["0 void", "1 settled", "2 void", "4 open"]);
      },
    },
    {
      title: "a closed stream accepts no append, and is over after its last entry",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.turn(held, { streams: [{ name: TOKENS, values: [v(2)], closes: true }] });
        expect(await append(setup, task, [3], { position: 1 })).toEqual(CLOSED);
        expect(await append(setup, task, [3], { run: "run-2" })).toEqual(CLOSED);
        await appended(setup, task, [1]); // it is there
        expect(await read(setup)).toEqual(["0:2=1", "1:0=2"]);
        expect(await page(setup)).toMatchObject({ next: 2, isOver: true });
        await appended(setup, task, [1], { name: "other" });
        expect(await page(setup, { name: "other" })).toMatchObject({ isOver: false });
      },
    },
    {
      title: "an append with another token to a closed stream is refused as LEASE_LOST",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await setup.turn(held, { streams: [CLOSE] });
        const other = { ...task, token: fresh() };
        expect(await append(setup, other, [1])).toEqual(LEASE_LOST);
      },
    },
    {
      title: "a stream without entries can be closed, and closing twice changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { streams: [CLOSE] });
        expect(await page(setup)).toMatchObject({ first: 0, next: 0, isOver: true, chunks: [] });
        await setup.turn(held, { streams: [CLOSE] });
        expect(await setup.provider.listStreams("a")).toMatchObject([
          { name: TOKENS, first: 0, next: 0, isClosed: true },
        ]);
      },
    },
    {
      title: "the end of the instance ends its streams and keeps their entries",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.turn(held, {
          events: [completedText()],
          streams: [{ name: TOKENS, values: [v("last")] }],
          change: { kind: "ended", status: "completed", output: "null", error: null },
        });
        expect(await read(setup)).toEqual(["0:2=1", '1:0="last"']);
        expect(await page(setup)).toMatchObject({ next: 2, isOver: true });
        expect(await page(setup, { name: "other" })).toMatchObject({ next: 0, isOver: true });
        expect(await setup.provider.listStreams("a")).toMatchObject([{ isClosed: false }]);
      },
    },
    {
      title: "a stream continues over executions",
      async run(setup) {
        const held = await setup.hold("a");
        const streams = [{ name: TOKENS, values: [v(1)] }];
        const { due } = await continueAsNew(setup, held, { streams });
        const consumed = due.map(({ id }) => id);
        await setup.turn(held, {
          events: [eventText()],
          consumed,
          streams: [{ name: TOKENS, values: [v(2)] }],
        });
        expect(await read(setup)).toEqual(["0:0=1", "1:0=2"]);
        const { chunks } = await page(setup);
        expect(chunks).toMatchObject([{ execution: 1 }, { execution: 2 }]);
      },
    },
    {
      title: "a restart opens closed streams again and keeps their entries",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { streams: [{ name: TOKENS, values: [v(1)], closes: true }] });
        await setup.complete(held);
        expect(await page(setup)).toMatchObject({ isOver: true });
        const again = await setup.hold("a", { onConflict: "restart" });
        expect(await page(setup)).toMatchObject({ first: 0, next: 1, isOver: false });
        await setup.turn(again, { streams: [{ name: TOKENS, values: [v(2)] }] });
        const task = claimOf(await setup.schedule(again, { lease: TASK_LEASE }));
        await appended(setup, task, [3]);
        expect(await read(setup)).toEqual(["0:0=1", "1:0=2", "2:2=3"]);
      },
    },
    {
      title: "a start that replaces a running instance keeps its streams",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.hold("a", { onConflict: "terminateExisting" });
        expect(await append(setup, task, [2], { position: 1 })).toEqual(LEASE_LOST);
        expect(await states(setup)).toEqual(["0 void"]);
        expect(await page(setup)).toMatchObject({ next: 1, isOver: false });
      },
    },
  ],
};

export const settledStreams: ContractSubject = {
  subject: "settled items of streams",
  cases: [
    {
      title: "the items of a running call are open, also between two attempts",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        expect(await states(setup)).toEqual(["0 open"]);
        await setup.commit({ kind: "releaseTask", task });
        expect(await states(setup)).toEqual(["0 open"]);
        expect((await page(setup)).chunks[0]).not.toHaveProperty("state");
      },
    },
    {
      title: "a completion settles the items of the last run",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [1], { run: "run-2" });
        await appended(setup, second, [2], { run: "run-2", position: 1 });
        expect(await states(setup)).toEqual(["0 void", "2 open", "3 open"]);
        const outcome = outcomeText(task.sequence);
        const claim = { ...second, streamValues: 2 } as const;
        await setup.commit({ kind: "completion", task: claim, outcome });
        expect(await states(setup)).toEqual(["0 void", "2 settled", "3 settled"]);
        expect(await states(setup, { from: 3 })).toEqual(["3 settled"]);
      },
    },
    {
      title: "a turn that finishes the call settles its items in all its streams",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await appended(setup, task, [2], { name: "other" });
        const events = [outcomeText(task.sequence)];
        await setup.turn(held, { events, finished: [{ ...task, streamValues: 2 }] });
        expect(await states(setup)).toEqual(["0 settled"]);
        expect(await states(setup, { name: "other" })).toEqual(["0 settled"]);
      },
    },
    {
      title: "a completion with a lost lease settles nothing",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await leaseAgain(setup, task);
        const claim = { ...task, streamValues: 1 } as const;
        const outcome = outcomeText(task.sequence);
        const completion = { kind: "completion", task: claim, outcome } as const;
        expect(await setup.commit(completion)).toEqual(LEASE_LOST);
        expect(await setup.commit(turnItem(held, { finished: [claim] }))).toEqual(LEASE_LOST);
        expect(await states(setup)).toEqual(["0 open"]);
      },
    },
    {
      title: "the items of a call that failed for good are void",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, task, [1]);
        await appended(setup, next, [2]);
        const outcome = JSON.stringify({ kind: "ActivityFailed", scheduled: 2 });
        await setup.commit({ kind: "completion", task, outcome });
        expect(await states(setup)).toEqual(["0 void", "1 open"]);
        await setup.turn(held, { finished: [next] });
        expect(await states(setup)).toEqual(["0 void", "1 void"]);
        expect(await read(setup)).toEqual(["0:2=1", "1:3=2"]);
      },
    },
    {
      title: "items of an earlier run are not settled if the successful run wrote elsewhere",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [2], { run: "run-2", name: "other" });
        const claim = { ...second, streamValues: 1 } as const;
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task: claim, outcome });
        expect(await states(setup)).toEqual(["0 void"]);
        expect(await states(setup, { name: "other" })).toEqual(["0 settled"]);
      },
    },
    {
      title: "a call from outside settles what the deferred run wrote, and nothing of earlier runs",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await appended(setup, task, [1], { name: "other" });
        const second = await nextAttempt(setup, task);
        await appended(setup, second, [2], { run: "run-2" });
        expect(await setup.commit({ kind: "defer", task: second })).toEqual({ kind: "done" });
        expect(await append(setup, second, [3], { run: "run-2", position: 1 })).toEqual(LEASE_LOST);
        expect(await states(setup)).toEqual(["0 void", "2 open"]);
        expect(await states(setup, { name: "other" })).toEqual(["0 void"]);
        const { id, runId } = held;
        const { execution, sequence } = task;
        const call = { kind: "complete", output: "1" } as const;
        const item = { kind: "callTask", id, runId, execution, sequence, call } as const;
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await states(setup)).toEqual(["0 void", "2 settled"]);
        expect(await states(setup, { name: "other" })).toEqual(["0 void"]);
      },
    },
    {
      title:
        "a completion is refused if values of its attempt are missing, and the task stays leased (provider.streams.7)",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await appended(setup, task, [2, 3], { name: "other" });
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        const outcome = outcomeText(task.sequence);
        const completion = (claim: TaskClaim) =>
          ({ kind: "completion", task: claim, outcome }) as const;
        const short = completion({ ...task, streamValues: 4 });
        expect(await setup.provider.commit([short, completion(next)])).toEqual([LEASE_LOST, DONE]);
        expect(await setup.provider.settle(short)).toBeNull();
        expect(await states(setup)).toEqual(["0 open"]);
        await setup.commit({ kind: "trim", id: "a", name: TOKENS, before: 1 });
        expect(await setup.commit(completion({ ...task, streamValues: 3 }))).toEqual(DONE);
        expect(await states(setup, { name: "other" })).toEqual(["0 settled"]);
      },
    },
    {
      title: "a turn is refused if values of an attempt that it finishes are missing",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const streams = [{ name: "other", values: [v(1)] }];
        const finished = (streamValues: number) => [{ ...task, streamValues }];
        const short = turnItem(held, { events: [eventText()], finished: finished(2), streams });
        expect(await setup.commit(short)).toEqual(LEASE_LOST);
        expect(await setup.provider.listStreams("a")).toMatchObject([{ name: TOKENS }]);
        expect(await states(setup)).toEqual(["0 open"]);
        await setup.turn(held, { events: [eventText()], finished: finished(1) });
        expect(await states(setup)).toEqual(["0 settled"]);
      },
    },
    {
      title: "a deferral is refused if values of its attempt are missing",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1]);
        const deferral = (streamValues: number) =>
          ({ kind: "defer", task: { ...task, streamValues } }) as const;
        expect(await setup.commit(deferral(2))).toEqual(LEASE_LOST);
        await appended(setup, task, [2], { position: 1 });
        expect(await setup.commit(deferral(2))).toEqual(DONE);
        expect(await states(setup)).toEqual(["0 open", "1 open"]);
      },
    },
    {
      title: "values of an earlier run do not count for the outcome of a later run",
      async run(setup) {
        const { task } = await writingCall(setup);
        await appended(setup, task, [1, 2]);
        const second = await nextAttempt(setup, task);
        const outcome = outcomeText(task.sequence);
        const claim = { ...second, streamValues: 2 };
        const completion = { kind: "completion", task: claim, outcome } as const;
        expect(await setup.commit(completion)).toEqual(LEASE_LOST);
        await appended(setup, second, [1, 2], { run: "run-2" });
        expect(await setup.commit(completion)).toEqual(DONE);
        expect(await states(setup)).toEqual(["0 void", "3 settled"]);
      },
    },
    {
      title: "a call settles only its own items",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        const next = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, task, [1]);
        await appended(setup, next, [2]);
        const events = [outcomeText(next.sequence)];
        await setup.turn(held, { events, finished: [{ ...next, streamValues: 1 }] });
        expect(await states(setup)).toEqual(["0 open", "1 settled"]);
      },
    },
    {
      title: "a cancelled call, continue-as-new and the end of the instance make open items void",
      async run(setup) {
        const { held, task } = await writingCall(setup);
        await appended(setup, task, [1]);
        await setup.turn(held, { cancelledTasks: [task.sequence] });
        expect(await states(setup)).toEqual(["0 void"]);
        const second = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, second, [2]);
        const { due } = await continueAsNew(setup, held);
        await setup.turn(held, { events: [eventText()], consumed: due.map(({ id }) => id) });
        expect(await states(setup)).toEqual(["0 void", "1 void"]);
        const third = claimOf(await setup.schedule(held, { lease: TASK_LEASE }));
        await appended(setup, third, [3]);
        await setup.commit(terminateItem("a"));
        expect(await states(setup)).toEqual(["0 void", "1 void", "2 void"]);
      },
    },
  ],
};
