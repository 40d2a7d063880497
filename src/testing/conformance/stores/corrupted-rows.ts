// Contract of corrupted rows: the store returns them unchanged, and they do not affect other rows
// (provider.3, semantics 6).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, eventText, heldFrom, sendItem, terminateItem } from "../fixture.ts";

const RUBBISH = '{"v":1,"at":\u0007 not json \\';

export const corruptedRows: ContractSubject = {
  subject: "corrupted rows",
  cases: [
    {
      title: "a history row that cannot be decoded is returned unchanged (provider.3)",
      needs: ["corruptHistory"],
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], release: true });
        const { key } = held;
        await setup.tamper.corruptHistory({ key, execution: 1, first: 1, text: RUBBISH });
        await setup.commit(sendItem({ id: "a" }));
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.history.map((row) => row.first)).toEqual([1, 2]);
        expect(leased.history[0]?.data).toBe(RUBBISH);
        expect(await setup.provider.readHistory(held)).toEqual(leased.history);
      },
    },
    {
      title:
        "an instance with a corrupted history does not prevent other instances from being leased (6)",
      needs: ["corruptHistory"],
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        const { key } = held;
        await setup.tamper.corruptHistory({ key, execution: 1, first: 1, text: RUBBISH });
        await setup.commit(sendItem({ id: "a" }));
        await setup.start("b");
        const { instances } = await setup.lease();
        expect(instances.map((instance) => instance.id).toSorted()).toEqual(["a", "b"]);
      },
    },
    {
      title: "a turn can be appended to a corrupted history",
      needs: ["corruptHistory"],
      async run(setup) {
        const held = await setup.hold("a");
        const { key } = held;
        await setup.tamper.corruptHistory({ key, execution: 1, first: 1, text: RUBBISH });
        await setup.turn(held, { events: [eventText()] });
        expect(await setup.provider.readHistory(held)).toHaveLength(2);
      },
    },
    {
      title:
        "an instance with a corrupted history can be terminated, and its executions can be listed",
      needs: ["corruptHistory"],
      async run(setup) {
        const held = await setup.hold("a");
        const { key } = held;
        await setup.tamper.corruptHistory({ key, execution: 1, first: 1, text: RUBBISH });
        const executions = await setup.provider.readExecutions(key);
        expect(executions).toMatchObject([{ execution: 1, lastEvent: 1 }]);
        expect(await setup.commit(terminateItem("a"))).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({ status: "terminated", lastEvent: 2 });
      },
    },
    {
      title: "a message that cannot be decoded is delivered unchanged, in its order (provider.3)",
      needs: ["corruptMessage"],
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const second = (await setup.due(held))[1];
        await setup.tamper.corruptMessage({ id: second?.id ?? -1, text: RUBBISH });
        const due = await setup.due(held);
        expect(due.map((message) => message.data)).toEqual(["1", RUBBISH, "3"]);
        const { due: left } = await setup.turn(held, {
          events: [eventText()],
          consumed: due.slice(0, 2).map((message) => message.id),
        });
        expect(left.map((message) => message.data)).toEqual(["3"]);
      },
    },
    {
      title: "an instance with a corrupted start can be leased, blocked and terminated",
      needs: ["corruptMessage"],
      async run(setup) {
        const { key } = await setup.start("a");
        const [start] = await setup.provider.readInbox(key);
        await setup.tamper.corruptMessage({ id: start?.id ?? -1, text: RUBBISH });
        const leased = await setup.leaseOnly("a", ALPHA);
        expect(leased.messages.map((message) => message.data)).toEqual([RUBBISH]);
        const { token } = heldFrom(leased);
        await setup.commit({ kind: "block", key, token, reason: "{}", by: ALPHA });
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
        expect(await setup.commit(terminateItem("a"))).toEqual({ kind: "done" });
        expect(await setup.read("a")).toMatchObject({ status: "terminated" });
      },
    },
    {
      title:
        "a task that cannot be decoded is marked as undecodable and does not affect other tasks (6)",
      needs: ["corruptTask"],
      async run(setup) {
        const { held, task: bad } = await setup.holdTask("a", {
          options: { timeoutMs: 1 },
          tags: ["x"],
        });
        const good = await setup.schedule(held, { priority: 4 });
        await setup.tamper.corruptTask({ ...bad, text: RUBBISH });
        const { tasks } = await setup.leaseTasks();
        expect(tasks.map((task) => task.sequence)).toEqual([bad.sequence, good.sequence]);
        expect(tasks[0]).toMatchObject({ undecodable: true, options: null, tags: null });
        expect(tasks[1]?.undecodable).toBeUndefined();
        expect(await setup.provider.readTasks(held)).toHaveLength(2);
      },
    },
  ],
};
