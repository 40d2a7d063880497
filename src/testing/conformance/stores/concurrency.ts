// Contract of concurrency: all guarantees hold across two providers on one store, as in two processes (P1,
// P8).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  claimOf,
  eventText,
  fresh,
  outcomeText,
  registration,
  sendItem,
  startItem,
  TARGETS,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";

const LEASE = { limit: 100, targets: TARGETS, allowSuspect: false, messagesMax: 100 };
const TASKS = { names: [CHARGE], tags: "any", sessions: null, allowSuspect: false } as const;

export const concurrency: ContractSubject = {
  subject: "two providers on one store",
  cases: [
    {
      title: "one provider reads what the other provider has committed (P1)",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const { held } = await setup.holdTask("a");
        await setup.commit(sendItem({ id: "a" }));
        expect(await other.readInstance("a")).toEqual(await setup.read("a"));
        expect(await other.readHistory(held)).toEqual(await setup.provider.readHistory(held));
        expect(await other.readTasks(held)).toEqual(await setup.provider.readTasks(held));
        expect(await other.readInbox(held.key)).toEqual(await setup.provider.readInbox(held.key));
        expect(await other.listRuntimes()).toEqual(await setup.provider.listRuntimes());
      },
    },
    {
      title: "committed data is still there after the store is closed and opened again (P1)",
      needs: ["reopen"],
      async run(setup) {
        const first = await setup.another();
        const lease = { owner: ALPHA, token: fresh() };
        const item = startItem({ id: "a", requestId: "r", attributes: { k: "v" }, lease });
        const [result] = await first.commit([item]);
        await first.commit([sendItem({ id: "a", requestId: "once" })]);
        const record = await first.readInstance("a");
        const inbox = await first.readInbox(record?.key ?? -1);
        await setup.closeOther(first);
        const second = await setup.another();
        expect(await second.readInstance("a")).toEqual(record);
        expect(await second.readInbox(record?.key ?? -1)).toEqual(inbox);
        expect(await second.commit([item])).toMatchObject([{ kind: result?.kind, execution: 1 }]);
        await second.commit([sendItem({ id: "a", requestId: "once" })]);
        expect(await second.readInbox(record?.key ?? -1)).toEqual(inbox);
        expect(
          (await second.leaseInstances({ ...LEASE, owner: BETA, token: 5 })).instances,
        ).toEqual([]);
      },
    },
    {
      title: "if two starts of one id race, only one succeeds",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        for (let i = 0; i < 20; i++) {
          const id = `raced-${i}`;
          const results = await setup.drive(
            Promise.all([
              setup.provider.commit([startItem({ id })]),
              other.commit([startItem({ id })]),
            ]),
          );
          const kinds = results.flat().map((result) => result.kind);
          expect(kinds.toSorted()).toEqual(["refused", "started"]);
        }
      },
    },
    {
      title: "if two concurrent turns name the same last event, only one is written (I2, I4)",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const held = await setup.hold("a");
        for (let i = 0; i < 20; i++) {
          const turns = [
            setup.provider.commit([turnItem(held, { events: [eventText('"mine"')] })]),
            other.commit([turnItem(held, { events: [eventText('"theirs"')] })]),
          ];
          const results = (await setup.drive(Promise.all(turns))).flat();
          expect(results.map((result) => result.kind).toSorted()).toEqual(["committed", "refused"]);
          held.lastEvent += 1;
        }
        expect(await setup.events(held)).toHaveLength(21);
      },
    },
    {
      title: "each instance is leased through one provider only",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        await setup.provider.commit(
          Array.from({ length: 60 }, (_, i) => startItem({ id: `n${i}` })),
        );
        const seen: string[] = [];
        for (let round = 0; round < 8; round++) {
          const shares = await setup.drive(
            Promise.all(
              [setup.provider, other].map(async (provider, side) => {
                const owner = `side-${side}-${round}`;
                await provider.registerRuntime(registration({ id: owner }));
                return provider.leaseInstances({ ...LEASE, limit: 5, owner, token: fresh() });
              }),
            ),
          );
          seen.push(...shares.flatMap((share) => share.instances.map((instance) => instance.id)));
        }
        expect(seen).toHaveLength(60);
        expect(new Set(seen).size).toBe(60);
      },
    },
    {
      title: "each task is leased through one provider only, and can be completed through either",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const held = await setup.hold("a");
        for (let i = 0; i < 20; i++) await setup.schedule(held);
        const shares = await setup.drive(
          Promise.all([
            setup.provider.leaseTasks({ ...TASKS, limit: 10, owner: ALPHA, token: fresh() }),
            other.leaseTasks({ ...TASKS, limit: 10, owner: BETA, token: fresh() }),
          ]),
        );
        const tasks = shares.flatMap((share) => share.tasks);
        expect(new Set(tasks.map((task) => task.sequence)).size).toBe(20);
        const results = await setup.drive(
          Promise.all(
            tasks.map((task, i) =>
              (i % 2 === 0 ? setup.provider : other).commit([
                { kind: "completion", task, outcome: outcomeText(task.sequence) },
              ]),
            ),
          ),
        );
        expect(results.flat().every((result) => result.kind === "done")).toBe(true);
        expect(await other.readInbox(held.key)).toHaveLength(20);
      },
    },
    {
      title: "concurrent sends of both providers all arrive, each provider's in order (P7)",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const held = await setup.hold("a");
        const sendAll = async (side: "mine" | "theirs"): Promise<void> => {
          const provider = side === "mine" ? setup.provider : other;
          for (let i = 0; i < 25; i++) {
            await provider.commit([sendItem({ id: "a", name: side, data: `${i}` })]);
          }
        };
        await setup.drive(Promise.all([sendAll("mine"), sendAll("theirs")]));
        const due = await setup.due(held);
        expect(due).toHaveLength(50);
        for (const side of ["mine", "theirs"]) {
          const datas = due.filter((message) => message.name === side).map(({ data }) => data);
          expect(datas).toEqual(Array.from({ length: 25 }, (_, i) => `${i}`));
        }
      },
    },
    {
      title: "a runtime that one provider declared dead cannot write through the other (P8)",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        const result = await other.expireRuntime({ id: ALPHA, staleMs: null });
        expect(result).toEqual({ expired: true, instances: 1, tasks: 1 });
        expect(await setup.provider.beat(ALPHA)).toBe(false);
        expect(await setup.commit(turnItem(held, { events: [eventText()] }))).toMatchObject({
          kind: "refused",
        });
        expect(await setup.provider.lostTasks([claimOf(task)])).toHaveLength(1);
      },
    },
    {
      title: "an item that one provider wrote settles through the other (I14)",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        const held = await setup.hold("a");
        const turn = turnItem(held, { events: [eventText()] });
        const start = startItem({ id: "b", requestId: "r" });
        const send = sendItem({ id: "b" });
        expect(await other.settle(turn)).toBeNull();
        const results = await setup.provider.commit([turn, start, send]);
        expect(await other.settle(turn)).toEqual(results[0]);
        expect(await other.settle(start)).toEqual(results[1]);
        expect(await other.settle(send)).toEqual(results[2]);
      },
    },
    {
      title: "each provider is eventually notified of the other provider's commits",
      needs: ["reopen"],
      async run(setup) {
        const other = await setup.another();
        let heard = false;
        const unsubscribe = setup.provider.subscribe((news) => {
          heard ||= news.elsewhere || news.due.includes("a");
        });
        await setup.environment.advance(1_000);
        heard = false;
        await other.commit([startItem({ id: "a" })]);
        // Real time: a provider may detect the writes of another process through the file system.
        for (let round = 0; round < 200 && !heard; round++) {
          await setup.environment.advance(100);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        unsubscribe();
        expect(heard).toBe(true);
      },
    },
  ],
};
