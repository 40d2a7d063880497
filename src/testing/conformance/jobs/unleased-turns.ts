// Contract of jobs: the first and the last turn of a job are written without a lease of its instance (commit.6, commit.7).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  claimOf,
  eventText,
  fresh,
  heldFrom,
  keepItem,
  LEASE_LOST,
  outcomeText,
  pauseItem,
  refused,
  resumeItem,
  sendItem,
  sessionsOf,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";
import { JOB_VERSION } from "../../../core/ids/semver.ts";
import { claimJob, jobEnd, jobStart, startJob } from "./job-items.ts";

/** The targets of a runtime that registers the job. */
const JOB_TARGETS = [CHARGE, `${CHARGE}@${JOB_VERSION}`];

export const unleasedStarts: ContractSubject = {
  subject: "starts of jobs",
  cases: [
    {
      title: "one commit writes a job with its first turn and its task, without a lease (commit.6)",
      async run(setup) {
        const item = jobStart({ id: "a", attributes: { color: "red" } });
        const result = await setup.commit(item);
        expect(result).toMatchObject({ kind: "started", execution: 1, leased: null, due: [] });
        const record = await setup.read("a");
        expect(record).toMatchObject({
          ...{ status: "running", name: CHARGE, version: JOB_VERSION, execution: 1 },
          ...{ lastEvent: 2, owner: null, attributes: { color: "red" } },
        });
        const place = { key: record.key, execution: 1 };
        expect(await setup.eventKinds(place)).toEqual([
          "OrchestrationStarted",
          "ActivityScheduled",
        ]);
        expect(await setup.inboxKinds(record.key)).toEqual([]);
        await setup.leaseNothing(BETA, { targets: JOB_TARGETS });
        const leased = await setup.leaseOneTask();
        const { runId } = item;
        expect(leased).toMatchObject({ ...place, sequence: 2, instanceId: "a", runId, attempt: 0 });
        expect(leased.orchestrationVersion).toBe(JOB_VERSION);
        const metrics = await setup.provider.readMetrics();
        expect(metrics).toMatchObject({ executions: 1, events: 2 });
        expect(metrics.instances.running).toBe(1);
      },
    },
    {
      title: "the task of a first turn can be leased to a runtime",
      async run(setup) {
        const key = await startJob(setup, { id: "a", task: { lease: TASK_LEASE } });
        expect(await setup.read("a")).toMatchObject({ status: "running", owner: null });
        await setup.leaseNoTask();
        const claim = claimOf({ key, execution: 1, sequence: 2 });
        expect(await setup.commit(jobEnd(claim))).toMatchObject({ kind: "committed", due: [] });
      },
    },
    {
      title: "a task for a runtime without a row is not leased, and another runtime runs the job",
      async run(setup) {
        const lease = { owner: "runtime-unknown", token: 5 };
        const result = await setup.commit(jobStart({ id: "a", task: { lease } }));
        expect(result).toMatchObject({ kind: "started", leased: null });
        const record = await setup.read("a");
        expect(record.owner).toBeNull();
        const tasks = await setup.provider.readTasks({ key: record.key, execution: 1 });
        expect(tasks.map(({ owner }) => owner)).not.toContain("runtime-unknown");
        if ("due" in result) {
          await setup.leaseOneTask();
        } else {
          // The store has ignored the turn.
          expect(record).toMatchObject({ status: "pending", lastEvent: 0 });
          await setup.leaseOnly("a", BETA, { targets: JOB_TARGETS });
        }
      },
    },
    {
      title: "a task that is leased in a session needs the claim of the session",
      async run(setup) {
        const sessions = sessionsOf(ALPHA);
        await startJob(setup, { id: "first", task: { session: "s" } });
        const { sessionClaim } = await setup.leaseOneTask(ALPHA, { sessions });
        if (sessionClaim === undefined) throw new Error("The session was not claimed.");
        const held = { ...TASK_LEASE, sessionClaim };
        const lost = { ...TASK_LEASE, sessionClaim: { ...sessionClaim, token: fresh() } };
        const [kept, ignored] = await setup.provider.commit([
          jobStart({ id: "kept", task: { session: "s", lease: held } }),
          jobStart({ id: "ignored", task: { session: "s", lease: lost } }),
        ]);
        expect(kept).toMatchObject({ kind: "started" });
        expect(ignored).toMatchObject({ kind: "started", leased: null });
        expect(ignored).not.toHaveProperty("due");
        expect(await setup.read("ignored")).toMatchObject({ status: "pending", owner: null });
      },
    },
    {
      title: "a delayed job begins later, with a start message",
      async run(setup) {
        for (const [id, delay] of [
          ["a", { delayMs: 1_000 }],
          ["b", { dueAt: setup.environment.now() + 1_000 }],
        ] as const) {
          const result = await setup.commit(jobStart({ id, ...delay }));
          expect(result).toMatchObject({ kind: "started", leased: null });
          expect(result).not.toHaveProperty("due");
          const record = await setup.read(id);
          expect(record).toMatchObject({ status: "pending", lastEvent: 0 });
          expect(await setup.inboxKinds(record.key)).toEqual(["start"]);
        }
        await setup.leaseNoTask();
        await setup.environment.advance(1_001);
        const { instances } = await setup.lease(BETA, { targets: JOB_TARGETS });
        expect(instances.map(({ id }) => id).toSorted()).toEqual(["a", "b"]);
      },
    },
    {
      title: "the id of a job conflicts like the id of any instance",
      async run(setup) {
        const key = await startJob(setup, { id: "a", requestId: "r", requestDigest: "d" });
        expect(await setup.commit(jobStart({ id: "a" }))).toEqual(refused("INSTANCE_EXISTS"));
        const again = jobStart({ id: "a", requestId: "r", requestDigest: "d" });
        expect(await setup.commit(again)).toMatchObject({ kind: "started", key, execution: 1 });
        const other = jobStart({ id: "a", requestId: "r", requestDigest: "e" });
        expect(await setup.commit(other)).toEqual(refused("KEY_REUSED"));
        const using = jobStart({ id: "a", onConflict: "useExisting" });
        expect(await setup.commit(using)).toMatchObject({ kind: "existing", key, execution: 1 });
        expect(await setup.provider.readTasks({ key, execution: 1 })).toHaveLength(1);
        const [task] = (await setup.leaseTasks()).tasks;
        if (task === undefined) throw new Error("The task was not leased.");
        await setup.commit(jobEnd(claimOf(task, task.token)));
        const restarting = jobStart({ id: "a", onConflict: "restart" });
        expect(await setup.commit(restarting)).toMatchObject({ kind: "started", execution: 2 });
        await setup.leaseOnly("a", BETA, { targets: JOB_TARGETS });
      },
    },
    {
      title: "early messages make a new job due",
      async run(setup) {
        await setup.commit(keepItem({ id: "a" }));
        await setup.commit(jobStart({ id: "a" }));
        const { key } = await setup.read("a");
        expect(await setup.inboxKinds(key)).toContain("event");
        await setup.leaseOnly("a", BETA, { targets: JOB_TARGETS });
      },
    },
    {
      title: "listeners are notified of the task of a new job",
      async run(setup) {
        const seen: boolean[] = [];
        const stop = setup.provider.subscribe(({ tasks }) => seen.push(tasks));
        await startJob(setup, { id: "a" });
        expect(seen).toContain(true);
        seen.length = 0;
        await startJob(setup, { id: "b", task: { lease: TASK_LEASE } });
        expect(seen).not.toContain(true);
        stop();
      },
    },
    {
      title: "in a group, a job that is refused does not affect the others",
      async run(setup) {
        await setup.hold("taken");
        const ids = ["a", "taken", "b"];
        const results = await setup.provider.commit(ids.map((id) => jobStart({ id })));
        expect(results[1]).toEqual(refused("INSTANCE_EXISTS"));
        for (const [id, result] of [["a", results[0]] as const, ["b", results[2]] as const]) {
          const isWritten = result?.kind === "started" && result.due !== undefined;
          const record = await setup.read(id);
          expect(record).toMatchObject({ lastEvent: isWritten ? 2 : 0, owner: null });
          const tasks = await setup.provider.readTasks({ key: record.key, execution: 1 });
          expect(tasks).toHaveLength(isWritten ? 1 : 0);
        }
      },
    },
    {
      title: "settle finds the start of a job (I14)",
      async run(setup) {
        const item = jobStart({ id: "a" });
        expect(await setup.provider.settle(item)).toBeNull();
        const result = await setup.commit(item);
        expect(await setup.provider.settle(item)).toEqual(result);
        expect(await setup.provider.settle(jobStart({ id: "a" }))).toBeNull();
      },
    },
  ],
};

export const unleasedEnds: ContractSubject = {
  subject: "ends of jobs",
  cases: [
    {
      title: "the worker that ran the activity ends the job without a lease of it (commit.7)",
      async run(setup) {
        const key = await startJob(setup, { id: "a" });
        const changed: string[] = [];
        const stop = setup.provider.subscribe((news) => changed.push(...news.changed));
        const { token } = await setup.leaseOneTask();
        const end = jobEnd({ key, execution: 1, sequence: 2, token });
        expect(await setup.provider.settle(end)).toBeNull();
        const committed = { kind: "committed", due: [] };
        expect(await setup.commit(end)).toEqual(committed);
        stop();
        expect(changed).toEqual(["a"]);
        const record = await setup.read("a");
        expect(record).toMatchObject({
          ...{ status: "completed", output: '"paid"', error: null, lastEvent: 4, owner: null },
          completedAt: setup.environment.now(),
        });
        expect(record).not.toHaveProperty("damaged");
        expect(await setup.eventKinds({ key, execution: 1 })).toEqual([
          "OrchestrationStarted",
          "ActivityScheduled",
          "ActivityCompleted",
          "OrchestrationCompleted",
        ]);
        expect(await setup.provider.readTasks({ key, execution: 1 })).toEqual([]);
        expect(await setup.provider.settle(end)).toEqual(committed);
        expect(await setup.commit(end)).toEqual(LEASE_LOST);
        const metrics = await setup.provider.readMetrics();
        expect(metrics).toMatchObject({ executions: 1, events: 4 });
        expect(metrics.instances).toMatchObject({ running: 0, completed: 1 });
      },
    },
    {
      title: "a lease, a message, a pause, a block or another position refuses the end",
      async run(setup) {
        const leased = await claimJob(setup, "leased");
        const blocked = await claimJob(setup, "blocked");
        for (const id of ["leased", "blocked"]) await setup.commit(sendItem({ id }));
        const { instances } = await setup.lease(BETA, { targets: JOB_TARGETS });
        for (const instance of instances) {
          const consumed = instance.messages.map(({ id }) => id);
          await setup.turn(heldFrom(instance), { consumed });
          const { id, key, token } = instance;
          const block = { kind: "block", key, token, reason: '{"code":"X"}', by: BETA } as const;
          if (id === "blocked") expect(await setup.commit(block)).toEqual({ kind: "done" });
        }
        const reached = await claimJob(setup, "event");
        const paused = await claimJob(setup, "paused");
        const other = await claimJob(setup, "other");
        await setup.commit(sendItem({ id: "event" }));
        await setup.commit(pauseItem("paused"));
        const ends = [
          ...[leased, blocked, reached, paused].map((claim) => jobEnd(claim)),
          jobEnd(other, { lastEvent: 1 }),
          jobEnd(other, { execution: 2 }),
          jobEnd(other, { finished: [{ ...other, token: fresh() }] }),
          jobEnd(other, { change: { kind: "none" } }),
        ];
        for (const end of ends) expect(await setup.commit(end)).toEqual(LEASE_LOST);
        for (const id of ["leased", "blocked", "event", "paused", "other"]) {
          const record = await setup.read(id);
          expect(record).toMatchObject({ status: "running", lastEvent: 2 });
          const tasks = await setup.provider.readTasks({ key: record.key, execution: 1 });
          expect(tasks).toHaveLength(1);
        }
        await setup.commit(resumeItem("paused"));
        for (const claim of [paused, other]) {
          expect(await setup.commit(jobEnd(claim))).toMatchObject({ kind: "committed" });
        }
      },
    },
    {
      title: "in a group, a refused end does not affect the others",
      async run(setup) {
        const claims = [];
        for (const id of ["a", "b", "c", "d"]) claims.push(await claimJob(setup, id));
        await setup.commit(sendItem({ id: "b" }));
        const held = await setup.hold("held");
        const turn = turnItem(held, { events: [eventText()] });
        const ends = claims.map((claim, index) =>
          jobEnd(index === 2 ? { ...claim, token: 1 } : claim),
        );
        const results = await setup.provider.commit([...ends.slice(0, 3), turn, ...ends.slice(3)]);
        expect(results.map(({ kind }) => kind)).toEqual([
          ...["committed", "refused", "refused", "committed", "committed"],
        ]);
        for (const [id, status] of [
          ["a", "completed"],
          ["b", "running"],
          ["c", "running"],
          ["d", "completed"],
        ] as const) {
          expect(await setup.read(id)).toMatchObject({ status });
        }
      },
    },
    {
      title: "after a refused end the worker can send the outcome to the inbox",
      async run(setup) {
        const claim = await claimJob(setup, "a");
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.commit(jobEnd(claim))).toEqual(LEASE_LOST);
        const completion = { kind: "completion", task: claim, outcome: outcomeText(2) } as const;
        expect(await setup.commit(completion)).toEqual({ kind: "done" });
        const leased = await setup.leaseOnly("a", BETA, { targets: JOB_TARGETS });
        expect(leased.messages.map(({ kind }) => kind).toSorted()).toEqual(["activity", "event"]);
      },
    },
  ],
};
