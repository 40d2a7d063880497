// Contract of rewinds: the next execution of an ended or blocked instance begins with a copied past (semantics 21b).

import { expect } from "vitest";
import { composeRow } from "../../../core/history/rows.ts";
import type { RewindItem, RewindTarget } from "../../../core/provider/commit.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelText,
  childOutcomeText,
  eventText,
  failedText,
  fresh,
  heldFrom,
  outcomeText,
  outgoing,
  sendItem,
  startedText,
  stateChange,
  terminateItem,
  type Held,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** A rewind of an instance that has ended, with a copied past of two events. */
function rewindItem(held: Held, fields: Partial<RewindTarget> = {}): RewindItem {
  const requestId = `rewind-${fresh()}`;
  return { kind: "rewind", id: held.id, requestId, targets: [target(held, fields)] };
}

function target(held: Held, fields: Partial<RewindTarget> = {}): RewindTarget {
  const { id, runId, execution, lastEvent } = held;
  return {
    id,
    runId,
    execution,
    lastEvent,
    terminated: null,
    rows: [{ first: 1, last: 2, data: composeRow(1, [startedText({ runId }), eventText("1")]) }],
    keyValues: [],
    status: null,
    attributes: {},
    closedStreams: [],
    events: [],
    cancelRequested: null,
    outcomes: [],
    lastOutcome: 0,
    liveChildren: [],
    cancelledChildren: [],
    childRequest: cancelText("rewound"),
    withParent: false,
    unawareParent: null,
    ...fields,
  };
}

/** An instance that has failed after an activity. */
async function failed(setup: Setup, id: string): Promise<Held> {
  const held = await setup.hold(id);
  await setup.schedule(held);
  await fail(setup, held);
  return held;
}

async function fail(setup: Setup, held: Held): Promise<void> {
  const error = failedText("failed");
  const change = { kind: "ended", status: "failed", output: null, error } as const;
  await setup.turn(held, { events: [error], change });
}

/** A parent that waits for a child with the id "child" since event 2, and the child. */
async function family(setup: Setup): Promise<{ readonly parent: Held; readonly child: Held }> {
  const parent = await setup.hold("parent");
  await setup.startChild(parent, "child");
  const leased = await setup.leaseOnly("child");
  const child = heldFrom(leased);
  const consumed = leased.messages.map(({ id }) => id);
  await setup.turn(child, { events: [startedText({ runId: child.runId })], consumed });
  return { parent, child };
}

/** What a child sends to its parent, whose call is event 2. */
function childOutcome(parent: Held, data: string) {
  const to = { id: parent.id, runId: parent.runId };
  return outgoing(to, { kind: "child", execution: 1, sequence: 2, data, key: "c:1:2" });
}

export const rewinds: ContractSubject = {
  subject: "rewinds",
  cases: [
    {
      title:
        "a rewound instance runs its next execution with the copied past, and is due at once without a start message",
      async run(setup) {
        const held = await failed(setup, "a");
        const item = rewindItem(held, {
          status: '"half"',
          keyValues: [["k", "1", 5]],
          attributes: { customer: "42" },
        });
        const before = await setup.read("a");
        expect(await setup.commit(item)).toEqual({ kind: "rewound", execution: 2 });
        const record = await setup.read("a");
        expect(record).toMatchObject({
          ...{ status: "running", execution: 2, runId: held.runId, lastEvent: 2, copiedUntil: 2 },
          ...{ error: null, completedAt: null, owner: null, customStatus: '"half"' },
          ...{ attributes: { customer: "42" }, createdAt: before.createdAt },
        });
        expect(record.damaged).toBeUndefined();
        expect(record.customStatusVersion).toBeGreaterThan(before.customStatusVersion);
        expect(await setup.provider.readKeyValue("a", "k")).toMatchObject({ value: "1" });
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased).toMatchObject({ execution: 2, lastEvent: 2, copiedUntil: 2, suspicion: 0 });
        expect(leased.history).toEqual(item.targets[0]?.rows);
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["wake"]);
        const consumed = leased.messages.map(({ id }) => id);
        await setup.turn(heldFrom(leased), { events: [eventText("2")], consumed });
        expect(await setup.eventKinds({ key: held.key, execution: 1 })).toHaveLength(3);
      },
    },
    {
      title: "key-values and a status that the copied past does not have are gone",
      async run(setup) {
        const held = await setup.hold("a");
        const keyValues = [{ key: "late", value: "1" }];
        const state = stateChange({ status: { value: '"late"' }, keyValues });
        await setup.turn(held, { events: [eventText()], state });
        await fail(setup, held);
        await setup.commit(rewindItem(held));
        expect(await setup.read("a")).toMatchObject({ customStatus: null });
        expect(await setup.provider.readKeyValue("a", "late")).toBeNull();
      },
    },
    {
      title: "kept outcomes are delivered in order, and no task of the earlier execution is left",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        await fail(setup, held);
        const outcomes = [
          { kind: "activity", sequence: 2, data: outcomeText(2) },
          { kind: "timer", sequence: 1, data: "" },
          { kind: "step", sequence: 1, data: '{"kind":"StepCompleted"}' },
        ] as const;
        await setup.commit(rewindItem(held, { outcomes }));
        expect(await setup.provider.readTasks({ key: task.key, execution: 2 })).toEqual([]);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.filter(({ kind }) => kind !== "wake")).toMatchObject(
          outcomes.map((each) => ({ ...each, execution: 2 })),
        );
        expect(messages.some(({ damaged }) => damaged)).toBe(false);
      },
    },
    {
      title: "events that go back come before the events that waited, and none is lost or doubled",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", name: "news", data: "3", requestId: "r3" }));
        await fail(setup, held);
        const events = [
          { name: "news", data: "1", key: "r1" },
          { name: "news", data: "2", key: null },
          { name: "news", data: "3", key: "r3" }, // it waits already
        ];
        await setup.commit(rewindItem(held, { events }));
        const leased = await setup.leaseOnly("a");
        const consumed = leased.messages.map(({ id }) => id);
        const again = heldFrom(leased);
        await setup.turn(again, { events: [eventText("9")], consumed, waitingEvents: "ready" });
        const seen = await setup.due(again);
        expect(seen.map(({ kind, data }) => [kind, data])).toEqual([
          ["event", "1"],
          ["event", "2"],
          ["event", "3"],
        ]);
      },
    },
    {
      title:
        "an instance that runs, was restarted or rewound meanwhile is refused, and nothing changes",
      async run(setup) {
        const held = await setup.hold("a");
        const refusal = { kind: "refused", code: "INSTANCE_RUNNING", id: "a" };
        expect(await setup.commit(rewindItem(held))).toEqual(refusal);
        await fail(setup, held);
        const other = rewindItem({ ...held, lastEvent: held.lastEvent - 1 });
        expect(await setup.commit(other)).toEqual(refusal);
        await setup.commit(rewindItem(held));
        const record = await setup.read("a");
        expect(await setup.commit(rewindItem(held))).toEqual(refusal);
        expect(await setup.read("a")).toEqual(record);
        const missing = rewindItem({ ...held, id: "missing" });
        expect(await setup.commit(missing)).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
      },
    },
    {
      title: "a repeated rewind returns the first result and changes nothing (I14)",
      async run(setup) {
        const held = await failed(setup, "a");
        const item = rewindItem(held);
        expect(await setup.provider.settle(item)).toBeNull();
        const first = await setup.commit(item);
        const leased = heldFrom(await setup.leaseOnly("a", ALPHA));
        await setup.turn(leased, { events: [eventText()] });
        await fail(setup, leased);
        expect(await setup.provider.settle(item)).toEqual(first);
        expect(await setup.commit(item)).toEqual(first);
        expect(await setup.read("a")).toMatchObject({ status: "failed", execution: 2 });
      },
    },
    {
      title: "a blocked instance ends its execution first: its lease, tasks and block are gone",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        const reason = '{"code":"NONDETERMINISM"}';
        await setup.commit({ kind: "block", key: held.key, token: held.token, reason, by: ALPHA });
        expect(await setup.commit(rewindItem(held))).toMatchObject({ code: "INSTANCE_RUNNING" });
        const terminated = failedText("terminated");
        await setup.commit(rewindItem(held, { terminated }));
        expect(await setup.read("a")).toMatchObject({ status: "running", blocked: null });
        expect(await setup.provider.readTasks(task)).toEqual([]);
        const kinds = await setup.eventKinds({ key: held.key, execution: 1 });
        expect(kinds.at(-1)).toBe("OrchestrationFailed");
        expect(await setup.leaseOnly("a", ALPHA)).toMatchObject({ execution: 2 });
      },
    },
    {
      title: "a child that the copied past waits for reports to the newest execution (commit.8)",
      async run(setup) {
        const { parent, child } = await family(setup);
        await setup.commit({
          ...{ kind: "block", key: parent.key, token: parent.token, reason: "{}", by: ALPHA },
        });
        const terminated = failedText("terminated");
        const live = { terminated, liveChildren: ["child"] };
        await setup.commit(rewindItem(parent, live));
        expect(await setup.read("child")).toMatchObject({
          status: "running",
          cancelRequested: null,
        });
        const data = childOutcomeText(2);
        await setup.complete(child, "1", { sends: [childOutcome(parent, data)] });
        const { messages } = await setup.leaseOnly("parent");
        expect(messages).toMatchObject([
          { kind: "wake" },
          { kind: "child", execution: 2, sequence: 2, data },
        ]);
      },
    },
    {
      title: "the outcome of a child whose call is not in the copied past is dropped",
      async run(setup) {
        const { parent, child } = await family(setup);
        await setup.commit({
          ...{ kind: "block", key: parent.key, token: parent.token, reason: "{}", by: ALPHA },
        });
        const rows = [{ first: 1, last: 1, data: composeRow(1, [startedText()]) }];
        const terminated = failedText("terminated");
        const cancelledChildren = ["child"];
        await setup.commit(rewindItem(parent, { terminated, rows, cancelledChildren }));
        expect((await setup.due(child)).map(({ kind }) => kind)).toEqual(["cancel"]);
        const sends = [childOutcome(parent, childOutcomeText(2))];
        await setup.complete(child, "1", { sends });
        const { messages } = await setup.leaseOnly("parent");
        expect(messages.map(({ kind }) => kind)).toEqual(["wake"]);
      },
    },
    {
      title: "a child that must not have ended, and has, refuses the rewind",
      async run(setup) {
        const { parent, child } = await family(setup);
        await setup.complete(child);
        await setup.commit({
          ...{ kind: "block", key: parent.key, token: parent.token, reason: "{}", by: ALPHA },
        });
        const live = { terminated: failedText("terminated"), liveChildren: ["child"] };
        const refusal = { kind: "refused", code: "INSTANCE_RUNNING", id: "child" };
        expect(await setup.commit(rewindItem(parent, live))).toEqual(refusal);
        expect(await setup.read("parent")).toMatchObject({ execution: 1, status: "running" });
      },
    },
    {
      title: "a child is rewound alone only if its parent has not received its end",
      async run(setup) {
        const { parent, child } = await family(setup);
        const data = JSON.stringify({ kind: "ChildFailed", scheduled: 2 });
        const error = failedText("failed");
        const change = { kind: "ended", status: "failed", output: null, error } as const;
        await setup.turn(child, { events: [error], change, sends: [childOutcome(parent, data)] });
        const refusal = { kind: "refused", code: "PARENT_INFORMED", id: "child" };
        // A runtime holds the parent, so it may have read the outcome.
        expect(await setup.commit(rewindItem(child))).toEqual(refusal);
        expect(await setup.inboxKinds(parent.key)).toEqual(["child"]);
        await setup.commit({ kind: "releaseInstance", key: parent.key, token: parent.token });
        expect(await setup.commit(rewindItem(child))).toMatchObject({ kind: "rewound" });
        expect(await setup.inboxKinds(parent.key)).toEqual([]);
        const again = heldFrom(await setup.leaseOnly("child"));
        await setup.turn(again, { events: [error], change, sends: [childOutcome(parent, data)] });
        expect(await setup.inboxKinds(parent.key)).toEqual(["child"]);
        await setup.commit(terminateItem("parent"));
        expect(await setup.commit(rewindItem(again))).toEqual(refusal);
      },
    },
    {
      title: "of a parent and its child, both are rewound or neither",
      async run(setup) {
        const { parent, child } = await family(setup);
        await fail(setup, child);
        await fail(setup, parent);
        const both = (childOf: Held): RewindItem => ({
          kind: "rewind",
          id: "child",
          requestId: `rewind-${fresh()}`,
          targets: [target(parent), target(childOf, { withParent: true })],
        });
        const wrong = both({ ...child, lastEvent: 1 });
        expect(await setup.commit(wrong)).toMatchObject({ kind: "refused", id: "child" });
        expect(await setup.read("parent")).toMatchObject({ status: "failed", execution: 1 });
        expect(await setup.commit(both(child))).toEqual({ kind: "rewound", execution: 2 });
        expect(await setup.read("parent")).toMatchObject({ status: "running", execution: 2 });
        expect(await setup.read("child")).toMatchObject({ status: "running", execution: 2 });
      },
    },
    {
      title:
        "a rewound instance is reported as due, and its streams are open except those that stay closed",
      async run(setup) {
        const held = await setup.hold("a");
        const streams = ["kept", "late"].map((name) => ({
          name,
          values: ["1"],
          closes: true as const,
        }));
        await setup.turn(held, { events: [eventText()], streams });
        await fail(setup, held);
        const due: string[] = [];
        setup.provider.subscribe((news) => due.push(...news.due));
        await setup.commit(rewindItem(held, { closedStreams: ["kept"] }));
        await setup.environment.settle();
        expect(due).toEqual(["a"]);
        const list = (await setup.provider.listStreams("a")) ?? [];
        expect(list.map(({ name, isClosed }) => [name, isClosed])).toEqual([
          ["kept", true],
          ["late", false],
        ]);
      },
    },
  ],
};
