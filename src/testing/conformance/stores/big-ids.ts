// Contract of large numbers: keys, message ids, tokens and times beyond 2^31 and near 2^53 are exact.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, claimOf, eventText, heldFrom, outcomeText, sendItem } from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** Runs an instance from start to end, with all numbers at least as large as the given one. */
async function wholeLife(setup: Setup, least: number): Promise<void> {
  await setup.tamper.setNextIds(least);
  await setup.start("a");
  await setup.start("b");
  const leased = await setup.leaseOnly("a", BETA, { targets: ["order"], limit: 1 });
  const other = await setup.leaseOnly("b", ALPHA);
  expect(leased.key).toBeGreaterThanOrEqual(least);
  expect(other.key).toBe(leased.key + 1);
  expect(leased.messages[0]?.id).toBeGreaterThanOrEqual(least);
  expect(other.messages[0]?.id).toBe((leased.messages[0]?.id ?? 0) + 1);
  const held = heldFrom(leased);
  const consumed = leased.messages.map((message) => message.id);
  await setup.turn(held, { events: [eventText()], consumed });
  expect(await setup.provider.readInbox(other.key)).toHaveLength(1);
  for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
  const due = await setup.due(held);
  expect(new Set(due.map((message) => message.id)).size).toBe(3);
  await setup.turn(held, { consumed: [due[1]?.id ?? -1] });
  expect((await setup.due(held)).map((message) => message.data)).toEqual(["1", "3"]);
  await setup.schedule(held);
  const task = await setup.leaseOneTask();
  expect(task.key).toBe(held.key);
  const completion = { kind: "completion", task, outcome: outcomeText(task.sequence) } as const;
  expect(await setup.commit(completion)).toEqual({ kind: "done" });
  await setup.complete(held);
  expect(await setup.provider.readHistory(held)).toHaveLength(3);
  expect(await setup.read("b")).toMatchObject({ key: other.key, owner: ALPHA });
}

export const bigIds: ContractSubject = {
  subject: "large numbers",
  cases: [
    {
      title: "keys and message ids beyond 2^31 are exact",
      needs: ["setNextIds"],
      run: (setup) => wholeLife(setup, 2 ** 31 - 1),
    },
    {
      title: "keys and message ids beyond 2^32 are exact",
      needs: ["setNextIds"],
      run: (setup) => wholeLife(setup, 2 ** 32 - 1),
    },
    {
      title: "keys and message ids near 2^53 are exact",
      needs: ["setNextIds"],
      run: (setup) => wholeLife(setup, 2 ** 53 - 1_000),
    },
    {
      title: "tokens and commit ids up to 2^53 - 1 are distinguished",
      async run(setup) {
        await setup.start("a");
        const token = Number.MAX_SAFE_INTEGER;
        const held = heldFrom(await setup.leaseOnly("a", BETA, { token }));
        expect(held.token).toBe(token);
        held.token -= 1;
        const { key } = held;
        expect(
          await setup.commit({ kind: "releaseInstance", key, token: held.token }),
        ).toMatchObject({ kind: "refused" });
        held.token += 1;
        await setup.turn(held, { events: [eventText()], commitId: Number.MAX_SAFE_INTEGER });
        const task = await setup.schedule(held, { lease: { owner: BETA, token: token - 2 } });
        expect(await setup.provider.lostTasks([claimOf(task, token - 2)])).toEqual([]);
        expect(await setup.provider.lostTasks([claimOf(task, token - 1)])).toHaveLength(1);
      },
    },
    {
      title: "event and task sequences beyond 2^31 are exact",
      async run(setup) {
        const held = await setup.hold("a");
        const sequence = 2 ** 31 + 5;
        await setup.turn(held, {
          events: [eventText()],
          timers: [{ kind: "timer", sequence, delayMs: 0 }],
        });
        expect(await setup.due(held)).toMatchObject([{ sequence }]);
        await setup.turn(held, { cancelledTimers: [{ kind: "timer", sequence: sequence - 1 }] });
        expect(await setup.due(held)).toHaveLength(1);
        await setup.turn(held, { cancelledTimers: [{ kind: "timer", sequence }] });
        expect(await setup.due(held)).toEqual([]);
      },
    },
  ],
};
