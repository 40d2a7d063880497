// Contract of suspects: instances whose cold leases repeatedly end without a commit (semantics 9a,
// provider.instances.4).

import { expect } from "vitest";
import type { LeaseInstancesRequest } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  GAMMA,
  heldFrom,
  registration,
  sendItem,
  TARGETS,
  type Held,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** Instance "a", held by ALPHA after one owner has died with it. */
async function holdSuspect(setup: Setup): Promise<Held> {
  await setup.start("a");
  await dieWith(setup, "a", "victim");
  return heldFrom(await setup.leaseSuspect("a", ALPHA));
}

/** Leases the instance to a separate runtime, which is then declared dead. */
async function dieWith(setup: Setup, id: string, owner: string): Promise<number> {
  await setup.provider.registerRuntime(registration({ id: owner }));
  const leased = await setup.leaseSuspect(id, owner);
  await setup.die(owner);
  return leased.suspicion;
}

const REASON = '{"code":"QUARANTINE"}';

/** Creates an instance that ALPHA quarantined with the code "one". */
async function quarantined(setup: Setup): Promise<void> {
  await setup.start("a");
  for (const owner of ["first", "second", "third"]) await dieWith(setup, "a", owner);
  const { key, token } = await setup.leaseSuspect("a", ALPHA);
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
      title:
        "a quarantined instance is not leased to any runtime with the same code (9a, provider.instances.5)",
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
        "a commit without new events keeps the quarantine, and a commit with events ends it (provider.instances.5)",
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
        "a runtime with different code can lease a quarantined instance, and one more death allows the next quarantine (9a, provider.instances.5)",
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
      title: "a quarantine keeps the number of deaths minus one (9a, provider.instances.5)",
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
        "after an unblock every runtime can lease the instance, and the count of deaths is kept (9a, provider.instances.5)",
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
      title: "every cold lease without a commit raises the suspicion of the next lease by one (9a)",
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
      title: "a suspect is leased only if the request allows suspects",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.leaseNothing(BETA, { allowSuspect: false });
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
          fresh: true,
        });
      },
    },
    {
      title: "a suspect is the only instance in the result of a lease (9a)",
      async run(setup) {
        await setup.start("s1");
        await dieWith(setup, "s1", "victim-1");
        await setup.start("s2");
        // The second instance becomes a suspect while the first one cannot be leased.
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
      title: "suspects that a request does not allow do not starve other instances",
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
      title: "a commit with events resets the suspicion (provider.instances.4)",
      async run(setup) {
        const held = await holdSuspect(setup);
        await setup.turn(held, { events: [eventText()] });
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a commit without events does not reset the suspicion (provider.instances.4)",
      async run(setup) {
        const held = await holdSuspect(setup);
        await setup.turn(held, { stepsOpen: true });
        await setup.die(ALPHA);
        const again = await setup.leaseSuspect("a");
        expect(again).toMatchObject({ suspicion: 2 });
        // Releasing the lease removes its count again.
        await setup.turn(heldFrom(again), { release: true });
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.leaseSuspect("a")).toMatchObject({ suspicion: 2 });
      },
    },
    {
      title:
        "a commit with events does not reset the suspicion while a step of an earlier lease is open (provider.instances.4)",
      async run(setup) {
        const held = await holdSuspect(setup);
        const step = { stepsOpen: true, keepsSuspicion: true } as const;
        await setup.turn(held, { events: [eventText()], ...step });
        await setup.die(ALPHA);
        expect(await setup.leaseSuspect("a")).toMatchObject({ suspicion: 2 });
      },
    },
    {
      title:
        "a death does not count against a suspect if its owner also had an open step of another instance (9a)",
      async run(setup) {
        const held = await holdSuspect(setup);
        await setup.turn(held, { stepsOpen: true });
        const other = await setup.hold("b");
        await setup.turn(other, { events: [eventText()], stepsOpen: true });
        await setup.die(ALPHA);
        const { instances } = await setup.lease(BETA, { allowSuspect: true });
        const [first] = instances;
        if (first?.id === "b") {
          expect(await setup.leaseSuspect("a")).toMatchObject({
            suspicion: 1,
          });
        } else expect(first).toMatchObject({ id: "a", suspicion: 1 });
      },
    },
    {
      title:
        "a death does not count against a suspect if its owner also held a task with an earlier death (9a, 13)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const task = await setup.hold("b", { owner: BETA });
        await setup.schedule(task);
        await setup.provider.registerRuntime(registration({ id: "second" }));
        await setup.leaseOneTask("second");
        await setup.die("second");
        await setup.leaseOneTask(ALPHA);
        await setup.leaseSuspect("a", ALPHA);
        await setup.die(ALPHA);
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a refused commit does not reset the suspicion",
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
      title: "a release takes back the count of its own lease only (provider.instances.4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        const { key, token } = await setup.leaseSuspect("a", ALPHA);
        await setup.commit({ kind: "releaseInstance", key, token });
        const again = await setup.leaseSuspect("a");
        expect(again).toMatchObject({ suspicion: 1 });
        await setup.turn(heldFrom(again), { events: [eventText()] });
        await setup.commit({ kind: "releaseInstance", key, token: again.token });
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.leaseOnly("a", ALPHA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a deregistration takes back the count of its own lease only (provider.instances.4)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.leaseSuspect("a", ALPHA);
        await setup.provider.removeRuntime(ALPHA);
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a lease that expires without a commit counts like a death",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(1_001);
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a death after a commit does not count",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()] });
        await setup.commit(sendItem({ id: "a" }));
        await setup.die(ALPHA);
        expect(await setup.leaseOnly("a", BETA)).toMatchObject({ suspicion: 0 });
      },
    },
    {
      title: "a lease call by the owner returns new messages and does not count as a cold lease",
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
      title: "a message to a suspect does not reset the suspicion (9a)",
      async run(setup) {
        await setup.start("a");
        await dieWith(setup, "a", "victim");
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA);
        expect(await setup.leaseSuspect("a")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title:
        "a lease reports more work if it left out a suspect, or other instances because of a suspect",
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
