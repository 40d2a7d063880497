// Contract of sweeps: retention deletes ended instances in slices, and one caller at a time does it.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { eventText } from "../fixture.ts";

const all = { filter: {}, order: "oldest", limit: 100, cursor: null } as const;

export const sweeps: ContractSubject = {
  subject: "sweeps",
  cases: [
    {
      title: "a sweep deletes instances that ended before a time, in slices, the oldest end first",
      async run(setup) {
        const held = [];
        for (const id of ["a", "b", "c", "d", "e"]) held.push(await setup.hold(id));
        for (const one of held.toReversed()) {
          await setup.complete(one);
          await setup.environment.advance(10);
        }
        const failed = await setup.hold("failed");
        const ending = { kind: "ended", status: "failed", output: null, error: "{}" } as const;
        await setup.turn(failed, { events: [eventText()], change: ending });
        await setup.hold("live");
        const completedBefore = (await setup.read("a")).completedAt ?? 0; // exclusive: keeps "a"
        const request = { status: "completed", completedBefore, limit: 3, cursor: null } as const;
        const first = await setup.provider.deleteEnded(request);
        expect(first).toMatchObject({ instances: 3, executions: 3, events: 6, messages: 0 });
        const remaining = async () =>
          (await setup.provider.findInstances(all)).items.map(({ id }) => id);
        expect(await remaining()).toEqual(["a", "b", "failed", "live"]);
        const { cursor } = first;
        expect(cursor).not.toBeNull();
        const second = await setup.provider.deleteEnded({ ...request, cursor });
        expect(second).toMatchObject({ instances: 1, cursor: null });
        expect(await remaining()).toEqual(["a", "failed", "live"]);
        const [, , third] = held;
        expect(await setup.provider.readHistory({ key: third?.key ?? 0, execution: 1 })).toEqual(
          [],
        );
        const later = { ...request, completedBefore: setup.environment.now() + 1 };
        expect(await setup.provider.deleteEnded({ ...later, status: "failed" })).toMatchObject({
          instances: 1,
        });
        expect(await remaining()).toEqual(["a", "live"]);
        const nonsense = setup.provider.deleteEnded({ ...request, cursor: "nonsense" });
        await expect(nonsense).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      },
    },
    {
      title:
        "a sweep deletes whole ended trees, never a child alone, and keeps trees with live children",
      async run(setup) {
        const ended = await setup.hold("ended");
        const busy = await setup.hold("busy");
        for (const parent of [ended, busy]) {
          await setup.startChild(parent, `${parent.id}-child`, { onParentClose: "abandon" });
          await setup.complete(parent);
        }
        await setup.commit({
          kind: "terminate",
          id: "ended-child",
          status: "terminated",
          terminated: '{"kind":"OrchestrationFailed"}',
          childRequest: "{}",
        });
        const completedBefore = setup.environment.now() + 1;
        const request = { completedBefore, limit: 10, cursor: null } as const;
        const children = await setup.provider.deleteEnded({ ...request, status: "terminated" });
        expect(children).toMatchObject({ instances: 0, cursor: null });
        const trees = await setup.provider.deleteEnded({ ...request, status: "completed" });
        expect(trees).toMatchObject({ instances: 2, cursor: null });
        const { items } = await setup.provider.findInstances(all);
        expect(items.map(({ id }) => id)).toEqual(["busy", "busy-child"]);
      },
    },
    {
      title: "only one caller holds the sweep claim until it expires",
      async run(setup) {
        const { provider, environment } = setup;
        const first = await provider.claimSweep({ held: null, leaseMs: 1_000 });
        expect(first).toBe(environment.now() + 1_000);
        expect(await provider.claimSweep({ held: null, leaseMs: 1_000 })).toBeNull();
        await environment.advance(500);
        const renewed = await provider.claimSweep({ held: first, leaseMs: 1_000 });
        expect(renewed).toBe(environment.now() + 1_000);
        await environment.advance(999);
        expect(await provider.claimSweep({ held: first, leaseMs: 1_000 })).toBeNull();
        await environment.advance(1);
        expect(await provider.claimSweep({ held: null, leaseMs: 1_000 })).not.toBeNull();
        expect(await provider.claimSweep({ held: renewed, leaseMs: 1_000 })).toBeNull();
      },
    },
  ],
};
