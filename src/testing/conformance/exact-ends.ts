// Ends to the millisecond: what lasts a time is over when it has passed, and not before (S1).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA } from "./fixture.ts";

export const exactEnds: ContractSubject = {
  subject: "ends to the millisecond",
  cases: [
    {
      title: "an instance's lease is over when its time has passed, not a millisecond before",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(999);
        await setup.leaseNothing(BETA, { allowSuspect: true });
        await setup.environment.advance(1);
        await setup.leaseOnly("a", BETA, { allowSuspect: true });
      },
    },
    {
      title: "a task's lease is over when its time has passed, not a millisecond before",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(999);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
        await setup.environment.advance(1);
        await setup.leaseOneTask(BETA, { allowSuspect: true });
      },
    },
    {
      title: "a runtime is stale when it has not beaten for so long, not a millisecond before (V2)",
      async run(setup) {
        await setup.environment.advance(4_999);
        const request = { id: ALPHA, staleMs: 5_000 };
        expect(await setup.provider.expireRuntime(request)).toMatchObject({ expired: false });
        await setup.environment.advance(1);
        expect(await setup.provider.expireRuntime(request)).toMatchObject({ expired: true });
      },
    },
  ],
};
