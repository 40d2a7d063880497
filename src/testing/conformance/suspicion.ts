// Suspicion: instances whose cold leases are not followed by a commit (semantics 9a, N4).

import { expect } from "vitest";
import type { LeaseInstancesRequest } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  GAMMA,
  heldFrom,
  registration,
  sendItem,
  TARGETS,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

/** Leases the instance to a runtime of its own, which then dies. */
async function dieWith(setup: Setup, id: string, owner: string): Promise<number> {
  await setup.provider.registerRuntime(registration({ id: owner }));
  const leased = await setup.leaseOnly(id, owner, { allowSuspect: true });
  await setup.die(owner);
  return leased.suspicion;
}

const REASON = '{"code":"QUARANTINE"}';

/** Quarantined by ALPHA under the code "one". */
async function quarantined(setup: Setup): Promise<void> {
  await setup.start("a");
  for (const owner of ["first", "second", "third"]) await dieWith(setup, "a", owner);
  const { key, token } = await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
  const item = { kind: "block", key, token, reason: REASON, by: ALPHA, code: "one" } as const;
  expect(await setup.commit(item)).toEqual({ kind: "done" });
}

function withCode(code: string): Partial<LeaseInstancesRequest> {
  return { allowSuspect: true, codes: TARGETS.map(() => code) };
}

export const quarantine: ContractSubject = {
  subject: "quarantine",
  cases: [
    {
      title: "a quarantined instance is left alone by every runtime with the same code (9a, N5)",
      async run(setup) {
        await quarantined(setup);
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        for (const owner of [ALPHA, BETA, GAMMA]) {
          await setup.leaseNothing(owner, withCode("one"));
          await setup.leaseNothing(owner, { allowSuspect: true });
        }
        expect(await setup.read("a")).toMatchObject({ blocked: REASON });
      },
    },
    {
      title:
        "a commit without new events keeps the quarantine: each code tries the instance once (N5)",
      async run(setup) {
        await quarantined(setup);
        const held = heldFrom(await setup.leaseOnly("a", BETA, withCode("two")));
        await setup.turn(held, { stepsOpen: true });
        await setup.die(BETA);
        await setup.leaseNothing(ALPHA, withCode("one"));
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        const again = await setup.leaseOnly("a", GAMMA, withCode("two"));
        expect(again).toMatchObject({ suspicion: 3 });
        await setup.turn(heldFrom(again), { events: [eventText()] });
        expect(await setup.read("a")).toMatchObject({ blocked: null });
      },
    },
    {
      title:
        "other code may try it, and its first death is enough for the next quarantine (9a, N5)",
      async run(setup) {
        await quarantined(setup);
        const trial = await setup.leaseOnly("a", BETA, withCode("two"));
        expect(trial).toMatchObject({ suspicion: 2 });
        await setup.die(BETA);
        await setup.leaseNothing(ALPHA, withCode("one"));
        const { key, token, suspicion } = await setup.leaseOnly("a", ALPHA, withCode("two"));
        expect(suspicion).toBe(3);
        const block = { kind: "block", key, token, reason: REASON, by: ALPHA } as const;
        await setup.commit({ ...block, code: "two" });
        for (const code of ["one", "two"]) await setup.leaseNothing(ALPHA, withCode(code));
        expect(await setup.leaseOnly("a", ALPHA, withCode("three"))).toMatchObject({
          suspicion: 2,
        });
      },
    },
    {
      title: "a quarantine keeps the count of deaths less one, however high it is (9a, N5)",
      async run(setup) {
        await setup.start("a");
        const held = heldFrom(await setup.leaseOnly("a"));
        await setup.turn(held, { events: [eventText()], stepsOpen: true, release: true });
        for (let n = 0; n < 6; n++) await dieWith(setup, "a", `worker ${n}`);
        const trial = await setup.leaseOnly("a", ALPHA, withCode("one"));
        expect(trial).toMatchObject({ suspicion: 6, stepsOpen: true });
        const { key, token } = trial;
        const block = { kind: "block", key, token, reason: REASON, by: ALPHA } as const;
        await setup.commit({ ...block, code: "one" });
        const again = await setup.leaseOnly("a", BETA, withCode("two"));
        expect(again).toMatchObject({ suspicion: 5, stepsOpen: true });
      },
    },
    {
      title:
        "after an unblock every runtime may try it, and the count has not begun again (9a, N5)",
      async run(setup) {
        await quarantined(setup);
        await setup.commit({ kind: "unblock", id: "a" });
        const again = await setup.leaseOnly("a", ALPHA, withCode("one"));
        expect(again).toMatchObject({ suspicion: 2 });
        await setup.turn(heldFrom(again), { events: [eventText()] });
        await setup.commit(sendItem({ id: "a" }));
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
  ],
};

export const suspicion: ContractSubject = {
  subject: "suspicion",
  cases: [
    {
      title: "each cold lease that no commit followed is counted by the next one (9a)",
      async run(setup) {
        await setup.start("a");
        const counts: number[] = [];
        for (const owner of ["first", "second", "third", "fourth"]) {
          counts.push(await dieWith(setup, "a", owner));
        }
        expect(counts).toEqual([0, 1, 2, 3]);
      },
    },
    {
      title: "a suspect is not handed out unless one is asked for",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.leaseNothing(BETA, { allowSuspect: false });
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
          fresh: true,
        });
      },
    },
    {
      title: "a suspect comes alone (9a)",
      async run(setup) {
        await setup.start("s1");
        await dieWith(setup, "s1", "victim-1");
        await setup.start("s2");
        // The second one is made a suspect while the first may not be taken.
        await setup.provider.registerRuntime(registration({ id: "victim-2" }));
        await setup.leaseOnly("s2", "victim-2");
        await setup.die("victim-2");
        for (const id of ["o1", "o2", "o3"]) await setup.start(id);
        const seen: string[] = [];
        for (let i = 0; i < 5; i++) {
          const owner = `reader-${i}`;
          await setup.provider.registerRuntime(registration({ id: owner }));
          const { instances } = await setup.lease(owner, { allowSuspect: true });
          const suspects = instances.filter((instance) => instance.suspicion > 0);
          if (suspects.length > 0) expect(instances).toHaveLength(1);
          seen.push(...instances.map((instance) => instance.id));
        }
        expect(seen.toSorted()).toEqual(["o1", "o2", "o3", "s1", "s2"]);
      },
    },
    {
      title: "suspects that may not be taken starve no other instance",
      async run(setup) {
        for (const id of ["s1", "s2", "s3"]) await setup.start(id, { priority: 1 });
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        expect((await setup.lease("victim")).instances).toHaveLength(3);
        await setup.die("victim");
        await setup.environment.advance(1);
        await setup.start("a");
        const { more } = await setup.lease(BETA, { limit: 1 });
        expect(await setup.read("a")).toMatchObject({ owner: BETA });
        expect(more).toBe(false);
      },
    },
    {
      title: "a commit that adds events clears the suspicion (N4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const held = heldFrom(await setup.leaseOnly("a", ALPHA, { allowSuspect: true }));
        await setup.turn(held, { events: [eventText()] });
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a commit without events clears nothing (N4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const held = heldFrom(await setup.leaseOnly("a", ALPHA, { allowSuspect: true }));
        await setup.turn(held, { stepsOpen: true });
        await setup.die(ALPHA);
        const again = await setup.leaseOnly("a", BETA, { allowSuspect: true });
        expect(again).toMatchObject({ suspicion: 2 });
        // With its release it takes back its own lease.
        await setup.turn(heldFrom(again), { release: true });
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 2,
        });
      },
    },
    {
      title: "a commit with events clears nothing while a step of an earlier lease is open (N4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const held = heldFrom(await setup.leaseOnly("a", ALPHA, { allowSuspect: true }));
        const step = { stepsOpen: true, keepsSuspicion: true } as const;
        await setup.turn(held, { events: [eventText()], ...step });
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 2,
        });
      },
    },
    {
      title: "a suspect with an open step is not blamed while another step is open there (9a)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const held = heldFrom(await setup.leaseOnly("a", ALPHA, { allowSuspect: true }));
        await setup.turn(held, { stepsOpen: true });
        const other = await setup.hold("b");
        await setup.turn(other, { events: [eventText()], stepsOpen: true });
        await setup.die(ALPHA);
        const { instances } = await setup.lease(BETA, { allowSuspect: true });
        const [first] = instances;
        if (first?.id === "b") {
          expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
            suspicion: 1,
          });
        } else expect(first).toMatchObject({ id: "a", suspicion: 1 });
      },
    },
    {
      title: "a suspect is not blamed while a task with a death is with the same runtime (9a, 13)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const task = await setup.hold("b", { owner: BETA });
        await setup.schedule(task);
        await setup.provider.registerRuntime(registration({ id: "second" }));
        await setup.leaseOneTask("second");
        await setup.die("second");
        await setup.leaseOneTask(ALPHA);
        await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a refused commit clears nothing",
      async run(setup) {
        await setup.start("a");
        await setup.provider.registerRuntime(registration({ id: "victim" }));
        const held = heldFrom(await setup.leaseOnly("a", "victim"));
        const release = { kind: "releaseInstance", key: held.key, token: held.token + 1 } as const;
        expect(await setup.commit(release)).toMatchObject({ kind: "refused" });
        await setup.die("victim");
        await setup.leaseNothing(BETA);
      },
    },
    {
      title: "an orderly release takes back its own lease, and no more (N4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const { key, token } = await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
        await setup.commit({ kind: "releaseInstance", key, token });
        const again = await setup.leaseOnly("a", BETA, { allowSuspect: true });
        expect(again).toMatchObject({ suspicion: 1 });
        await setup.turn(heldFrom(again), { events: [eventText()] });
        await setup.commit({ kind: "releaseInstance", key, token: again.token });
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.leaseOnly("a", ALPHA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "an orderly goodbye takes back its own lease, and no more (N4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
        await setup.provider.removeRuntime(ALPHA);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a lease whose time ran out without a commit counts like a death",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(1_001);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "the death of an owner that had committed since its lease counts for nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()] });
        await setup.commit(sendItem({ id: "a" }));
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "news for the holder is no cold lease and counts for nothing",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        for (let i = 0; i < 3; i++) {
          expect(await setup.leaseOnly("a", ALPHA)).toMatchObject({ fresh: false, suspicion: 0 });
        }
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a message to a suspect does not clear it of suspicion (9a)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA);
        expect(await setup.leaseOnly("a", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "an answer says that there is more when a suspect, or others beside it, had to wait",
      async run(setup) {
        await setup.start("suspect");
        await dieWith(setup, "suspect", "victim");
        await setup.start("other");
        const taken: string[] = [];
        for (const left of [true, false]) {
          const owner = `reader-${taken.length}`;
          await setup.provider.registerRuntime(registration({ id: owner }));
          const { instances, more } = await setup.lease(owner, { allowSuspect: true });
          expect(instances).toHaveLength(1);
          expect(more).toBe(left);
          taken.push(...instances.map((instance) => instance.id));
        }
        expect(taken.toSorted()).toEqual(["other", "suspect"]);
      },
    },
  ],
};
