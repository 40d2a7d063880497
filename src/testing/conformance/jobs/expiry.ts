// Contract of expiry: an instance that ended with `keepMs` is deleted by its own time (admin.6).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { eventText, startItem } from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { claimJob, jobEnd } from "./job-items.ts";

const NOTHING = { instances: 0, executions: 0, events: 0, messages: 0, cursor: null };

/** Starts a job and ends it. */
async function endJob(setup: Setup, id: string, keepMs?: number): Promise<void> {
  const change = { kind: "ended", status: "completed", output: "1", error: null } as const;
  const end = jobEnd(await claimJob(setup, id), {
    change: keepMs === undefined ? change : { ...change, keepMs },
  });
  expect(await setup.commit(end)).toMatchObject({ kind: "committed" });
}

async function idsOf({ provider }: Setup): Promise<string[]> {
  const request = { filter: {}, order: "oldest", limit: 100, cursor: null } as const;
  return (await provider.findInstances(request)).items.map(({ id }) => id);
}

export const expiry: ContractSubject = {
  subject: "expiry",
  cases: [
    {
      title: "deleteExpired deletes instances whose time is over, in slices, the earliest first",
      async run(setup) {
        const { provider, environment } = setup;
        for (const [id, keepMs] of [
          ["late", 5_000],
          ["third", 300],
          ["second", 200.5],
          ["first", 0],
        ] as const) {
          await endJob(setup, id, keepMs);
        }
        await endJob(setup, "ruled");
        await claimJob(setup, "live");
        await environment.advance(400);
        const slice = await provider.deleteExpired({ limit: 2, cursor: null });
        expect(slice).toMatchObject({ instances: 2, executions: 2, events: 8, messages: 0 });
        expect(await idsOf(setup)).toEqual(["late", "third", "ruled", "live"]);
        const { cursor } = slice;
        expect(cursor).not.toBeNull();
        const rest = await provider.deleteExpired({ limit: 2, cursor });
        expect(rest).toMatchObject({ instances: 1, cursor: null });
        expect(await provider.deleteExpired({ limit: 2, cursor: null })).toEqual(NOTHING);
        expect(await idsOf(setup)).toEqual(["late", "ruled", "live"]);
        await environment.advance(5_000);
        const nonsense = provider.deleteExpired({ limit: 2, cursor: "nonsense" });
        await expect(nonsense).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
        await provider.deleteExpired({ limit: 10, cursor: null });
        expect(await idsOf(setup)).toEqual(["ruled", "live"]);
      },
    },
    {
      title: "deleteEnded does not delete an instance that has a separate time",
      async run(setup) {
        await endJob(setup, "kept", 5_000);
        await endJob(setup, "expired", 0);
        await endJob(setup, "ruled");
        const completedBefore = setup.environment.now() + 1_000;
        const request = { status: "completed", completedBefore, limit: 10, cursor: null } as const;
        expect(await setup.provider.deleteEnded(request)).toMatchObject({ instances: 1 });
        expect(await idsOf(setup)).toEqual(["kept", "expired"]);
      },
    },
    {
      title: "a turn with a lease can set the time too, for every status",
      async run(setup) {
        const failed = await setup.hold("failed");
        const change = { kind: "ended", status: "failed", output: null, error: "{}" } as const;
        await setup.turn(failed, { events: [eventText()], change: { ...change, keepMs: 10 } });
        await setup.environment.advance(11);
        const deleted = await setup.provider.deleteExpired({ limit: 10, cursor: null });
        expect(deleted).toMatchObject({ instances: 1, cursor: null });
      },
    },
    {
      title: "an instance that is started again loses the time of its last end",
      async run(setup) {
        await endJob(setup, "a", 100);
        const restart = startItem({ id: "a", onConflict: "restart" });
        expect(await setup.commit(restart)).toMatchObject({ kind: "started", execution: 2 });
        await setup.environment.advance(1_000);
        const request = { limit: 10, cursor: null };
        expect(await setup.provider.deleteExpired(request)).toEqual(NOTHING);
        expect(await idsOf(setup)).toEqual(["a"]);
      },
    },
    {
      title: "a tree with a live child is kept until the child has ended",
      async run(setup) {
        const parent = await setup.hold("parent");
        await setup.startChild(parent, "child", { onParentClose: "abandon" });
        const change = { kind: "ended", status: "completed", output: "1", error: null } as const;
        await setup.turn(parent, { events: [eventText()], change: { ...change, keepMs: 10 } });
        await setup.environment.advance(11);
        const request = { limit: 10, cursor: null };
        expect(await setup.provider.deleteExpired(request)).toEqual(NOTHING);
        await setup.commit({
          ...{ kind: "terminate", id: "child", status: "terminated" },
          ...{ terminated: '{"kind":"OrchestrationFailed"}', childRequest: "{}" },
        });
        const deleted = await setup.provider.deleteExpired(request);
        expect(deleted).toMatchObject({ instances: 2, cursor: null });
        expect(await idsOf(setup)).toEqual([]);
      },
    },
  ],
};
