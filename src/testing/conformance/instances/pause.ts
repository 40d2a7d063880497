// Contract of pause: the store commits no turn of a paused instance until it is resumed, and loses nothing
// meanwhile (semantics 19a, 20).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  claimOf,
  eventText,
  LEASE_LOST,
  outcomeText,
  PAUSE_INFO,
  pauseItem,
  refused,
  resumeItem,
  sendItem,
  startedText,
  startItem,
  TASK_LEASE,
  terminateItem,
  turnItem,
} from "../fixture.ts";

const DONE = { kind: "done" };

export const pausing: ContractSubject = {
  subject: "pause",
  cases: [
    {
      title: "a paused instance shows the reason and is otherwise unchanged",
      async run(setup) {
        await setup.hold("a");
        const record = await setup.read("a");
        expect(await setup.commit(pauseItem("a"))).toEqual(DONE);
        expect(await setup.read("a")).toEqual({ ...record, paused: PAUSE_INFO });
      },
    },
    {
      title: "pausing twice keeps the first reason",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(pauseItem("a", '{"reason":"again"}'))).toEqual(DONE);
        expect(await setup.read("a")).toMatchObject({ paused: PAUSE_INFO });
      },
    },
    {
      title: "pausing or resuming an instance that does not exist or has ended is refused",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        for (const itemOf of [(id: string) => pauseItem(id), resumeItem]) {
          expect(await setup.commit(itemOf("missing"))).toEqual(refused("INSTANCE_NOT_FOUND"));
          expect(await setup.commit(itemOf("a"))).toEqual(refused("INSTANCE_FINISHED"));
        }
        expect(await setup.read("a")).toMatchObject({ paused: null, status: "completed" });
      },
    },
    {
      title: "resuming an instance that is not paused changes nothing",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.commit(resumeItem("a"))).toEqual(DONE);
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a turn of a paused instance is refused with PAUSED, and the lease is kept (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(pauseItem("a"));
        const turn = turnItem(held, { events: [eventText()] });
        expect(await setup.commit(turn)).toEqual(refused("PAUSED"));
        expect(await setup.events(held)).toHaveLength(1);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.commit(resumeItem("a"));
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title:
        "a turn without a valid lease is refused with LEASE_LOST, even if the instance is paused",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(pauseItem("a"));
        const lost = LEASE_LOST;
        const stale = turnItem(held, { token: held.token + 1, events: [eventText()] });
        expect(await setup.commit(stale)).toEqual(lost);
        const old = turnItem(held, { lastEvent: 0, events: [eventText()] });
        expect(await setup.commit(old)).toEqual(lost);
      },
    },
    {
      title: "a turn that is refused for a pause writes nothing (I1)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.commit(sendItem({ id: "a" }));
        await setup.commit(pauseItem("a"));
        const [message] = await setup.provider.readInbox(held.key);
        const turn = turnItem(held, {
          events: [outcomeText(task.sequence)],
          finished: [claimOf(task)],
          consumed: [message?.id ?? -1],
        });
        expect(await setup.commit(turn)).toMatchObject(refused("PAUSED"));
        expect(await setup.provider.lostTasks([claimOf(task)])).toEqual([]);
        expect(await setup.inboxKinds(held.key)).toEqual(["event"]);
      },
    },
    {
      title: "outcomes that a refused turn could not record wait in the inbox (19a)",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        await setup.commit(pauseItem("a"));
        const outcome = outcomeText(task.sequence);
        const { key, token } = held;
        const step = '{"kind":"StepCompleted","scheduled":3,"output":"1","attempts":1}';
        const results = await setup.provider.commit([
          { kind: "completion", task: claimOf(task), outcome },
          { kind: "stepOutcome", key, token, execution: 1, sequence: 3, outcome: step },
          { kind: "releaseInstance", key, token },
        ]);
        expect(results).toEqual([DONE, DONE, DONE]);
        await setup.leaseNothing();
        await setup.commit(resumeItem("a"));
        const leased = await setup.leaseOnly("a");
        expect(leased.messages).toEqual(
          expect.arrayContaining([
            expect.objectContaining({ kind: "activity", sequence: task.sequence, data: outcome }),
            expect.objectContaining({ kind: "step", execution: 1, sequence: 3, data: step }),
          ]),
        );
      },
    },
    {
      title:
        "a paused instance is not leased, and messages from the pause are delivered in order (20)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.timer(held, { delayMs: 100 }, { release: true });
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(sendItem({ id: "a", data: "1" }))).toEqual(DONE);
        await setup.environment.advance(200);
        expect(await setup.commit(sendItem({ id: "a", data: "2" }))).toEqual(DONE);
        await setup.leaseNothing(BETA);
        expect(await setup.commit(resumeItem("a"))).toEqual(DONE);
        expect(await setup.read("a")).toMatchObject({ paused: null });
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["event", "timer", "event"]);
      },
    },
    {
      title: "an instance that is paused before its first turn begins when it is resumed",
      async run(setup) {
        await setup.start("a");
        await setup.commit(pauseItem("a"));
        await setup.leaseNothing();
        expect(await setup.read("a")).toMatchObject({ status: "pending", paused: PAUSE_INFO });
        await setup.commit(resumeItem("a"));
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "start" }]);
      },
    },
    {
      title:
        "the activities of a paused instance continue, and their outcomes wait in the inbox (20)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.commit(pauseItem("a"));
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        expect(await setup.commit(completion)).toEqual(DONE);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "a cancel ends a pause (19a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.commit(pauseItem("a"));
        await setup.commit(cancelItem("a"));
        expect(await setup.read("a")).toMatchObject({ paused: null });
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "cancel" }]);
      },
    },
    {
      title:
        "a paused instance can be terminated and does not prevent other instances from being leased",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(terminateItem("a"))).toEqual(DONE);
        expect(await setup.read("a")).toMatchObject({ status: "terminated" });
        await setup.start("b");
        await setup.leaseOnly("b", BETA, { limit: 1 });
      },
    },
    {
      title: "a resume in the same group removes a pause before it takes effect (20)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.provider.commit([pauseItem("a"), resumeItem("a")]);
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.read("a")).toMatchObject({ paused: null, owner: ALPHA });
      },
    },
    {
      title: "a turn that ends, continues or releases is also refused for a pause",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(pauseItem("a"));
        const ended = { kind: "ended", status: "completed", output: "1", error: null } as const;
        const started = startedText();
        const continued = { kind: "continued", started, version: "1.0.0", unread: [] } as const;
        for (const change of [ended, continued]) {
          const turn = turnItem(held, { events: [eventText()], change });
          expect(await setup.commit(turn)).toEqual(refused("PAUSED"));
        }
        for (const fields of [{ release: true }, { version: "2.0.0" }, { stepsOpen: true }]) {
          const turn = turnItem(held, { events: [eventText()], ...fields });
          expect(await setup.commit(turn)).toEqual(refused("PAUSED"));
        }
        expect(await setup.read("a")).toMatchObject({ status: "running", execution: 1 });
      },
    },
    {
      title:
        "a turn of a paused instance with a lost task is refused with PAUSED, because its lease is valid",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.commit(pauseItem("a"));
        const turn = turnItem(held, {
          events: [outcomeText(task.sequence)],
          finished: [claimOf(task, 78)],
        });
        const careless = turnItem(await setup.hold("b"), {
          events: [eventText()],
          finished: [claimOf(task, 78)],
        });
        expect(await setup.commit(turn)).toEqual(refused("PAUSED"));
        const results = await setup.provider.commit([careless, turn]);
        expect(results).toEqual([LEASE_LOST, refused("PAUSED")]);
      },
    },
    {
      title:
        "a resume reports waiting messages as due, and listeners are notified of the pause and the resume",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        const due: string[] = [];
        const changed: string[] = [];
        setup.provider.subscribe((news) => {
          due.push(...news.due);
          changed.push(...news.changed);
        });
        await setup.commit(pauseItem("a"));
        await setup.commit(pauseItem("a"));
        expect(changed).toEqual(["a"]);
        await setup.commit(sendItem({ id: "a" }));
        due.length = 0;
        await setup.commit(resumeItem("a"));
        await setup.environment.settle();
        expect(due).toEqual(["a"]);
        expect(changed).toEqual(["a", "a"]);
      },
    },
    {
      title: "a second cancel ends a pause that came after the first cancel",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(cancelItem("a"));
        const consumed = (await setup.due(held)).map(({ id }) => id);
        await setup.turn(held, { events: [eventText()], consumed, cancelRequested: "{}" });
        await setup.commit(pauseItem("a"));
        expect(await setup.commit(cancelItem("a"))).toEqual(DONE);
        expect(await setup.read("a")).toMatchObject({ paused: null });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a restarted instance is not paused",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(pauseItem("a"));
        await setup.commit(startItem({ id: "a", onConflict: "terminateExisting" }));
        expect(await setup.read("a")).toMatchObject({ paused: null, execution: 2 });
        await setup.leaseOnly("a");
      },
    },
    {
      title:
        "a pause settles as done after it was written, and a resume after the pause is removed (I14)",
      async run(setup) {
        await setup.hold("a");
        expect(await setup.provider.settle(pauseItem("a"))).toBeNull();
        await setup.commit(pauseItem("a"));
        expect(await setup.provider.settle(pauseItem("a"))).toEqual(DONE);
        expect(await setup.provider.settle(pauseItem("a", '{"reason":"mine"}'))).toBeNull();
        expect(await setup.provider.settle(resumeItem("a"))).toBeNull();
        await setup.commit(resumeItem("a"));
        expect(await setup.provider.settle(pauseItem("a"))).toBeNull();
      },
    },
  ],
};
