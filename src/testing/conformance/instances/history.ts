// Contract of histories: append-only, numbered from 1 without gaps, and read back unchanged (I4, I10).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { BETA, completedText, eventText, sendItem, startedText, turnItem } from "../fixture.ts";

export const history: ContractSubject = {
  subject: "history",
  cases: [
    {
      title: "history rows are read back in order and unchanged",
      async run(setup) {
        const held = await setup.hold("a");
        const written = [];
        for (const count of [1, 3, 2]) {
          const events = Array.from({ length: count }, (_, i) => eventText(`${count}.${i}`));
          const item = turnItem(held, { events });
          await setup.provider.commit([item]);
          held.lastEvent += count;
          written.push(item.row);
        }
        const rows = await setup.provider.readHistory(held);
        expect(rows.slice(1)).toEqual(written);
        expect(rows.map((row) => [row.first, row.last])).toEqual([
          [1, 1],
          [2, 2],
          [3, 5],
          [6, 7],
        ]);
      },
    },
    {
      title: "the text of a row is stored exactly",
      async run(setup) {
        const held = await setup.hold("a");
        const data = '{ "v": 1,\t"at":0.5, "e":[ {"b":1,"a":"\\u0041\\ud83d é\u2028"} ] }\n';
        const row = { first: 2, last: 2, data };
        await setup.provider.commit([{ ...turnItem(held), row }]);
        expect((await setup.provider.readHistory(held))[1]).toEqual(row);
      },
    },
    {
      title: "a part of a history consists of the complete rows that contain the selected events",
      async run(setup) {
        const held = await setup.hold("a");
        for (const count of [3, 1, 4]) {
          await setup.turn(held, { events: Array.from({ length: count }, () => eventText()) });
        }
        const all = await setup.provider.readHistory(held); // rows 1–1, 2–4, 5–5, 6–9
        const part = (after: number, limit?: number) =>
          setup.provider.readHistory({
            key: held.key,
            execution: held.execution,
            after,
            ...(limit === undefined ? {} : { limit }),
          });
        expect(all.map(({ first, last }) => [first, last])).toEqual([
          [1, 1],
          [2, 4],
          [5, 5],
          [6, 9],
        ]);
        expect(await part(0)).toEqual(all);
        expect(await part(0, 1)).toEqual(all.slice(0, 1));
        expect(await part(0, 2)).toEqual(all.slice(0, 2));
        expect(await part(1, 3)).toEqual(all.slice(1, 2));
        expect(await part(2, 1)).toEqual(all.slice(1, 2));
        expect(await part(3, 2)).toEqual(all.slice(1, 3));
        expect(await part(3, 3)).toEqual(all.slice(1, 4));
        expect(await part(4, 1)).toEqual(all.slice(2, 3));
        expect(await part(5)).toEqual(all.slice(3));
        expect(await part(8, 1_000)).toEqual(all.slice(3));
        expect(await part(8, Number.MAX_SAFE_INTEGER)).toEqual(all.slice(3));
        expect(await part(5, 0)).toEqual([]);
        expect(await part(9)).toEqual([]);
        expect(await part(1_000, 10)).toEqual([]);
      },
    },
    {
      title: "a part of a history contains no row of another instance or execution",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        await setup.turn(a, { events: [eventText(), eventText()] });
        await setup.turn(b, { events: [eventText()] });
        const { key } = a;
        expect(await setup.provider.readHistory({ key, execution: 1, after: 2, limit: 5 })).toEqual(
          (await setup.provider.readHistory(a)).slice(1),
        );
        expect(await setup.provider.readHistory({ key, execution: 2, after: 1 })).toEqual([]);
        expect(
          await setup.provider.readHistory({ key: key + 99, execution: 1, after: 0, limit: 9 }),
        ).toEqual([]);
      },
    },
    {
      title: "a pending instance and an execution that does not exist have no history",
      async run(setup) {
        const { key } = await setup.start("a");
        expect(await setup.provider.readHistory({ key, execution: 1 })).toEqual([]);
        expect(await setup.provider.readHistory({ key, execution: 2 })).toEqual([]);
        expect(await setup.provider.readHistory({ key: key + 99, execution: 1 })).toEqual([]);
      },
    },
    {
      title: "a hundred turns result in one history without gaps",
      async run(setup) {
        const held = await setup.hold("a");
        for (let i = 0; i < 100; i++) await setup.turn(held, { events: [eventText(`${i}`)] });
        const events = await setup.events(held);
        expect(events.map((event) => event.sequence)).toEqual(
          Array.from({ length: 101 }, (_, i) => i + 1),
        );
        expect(events.at(-1)).toMatchObject({ data: "99" });
      },
    },
    {
      title: "a thousand events can be stored in one row",
      async run(setup) {
        const held = await setup.hold("a");
        const events = Array.from({ length: 1_000 }, (_, i) => eventText(`${i}`));
        await setup.turn(held, { events });
        expect(await setup.read("a")).toMatchObject({ lastEvent: 1_001 });
        expect(await setup.events(held)).toHaveLength(1_001);
      },
    },
    {
      title: "instances have separate histories",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        await setup.turn(a, { events: [eventText('"of a"')] });
        await setup.turn(b, { events: [eventText('"of b"')] });
        expect((await setup.events(a)).at(-1)).toMatchObject({ data: '"of a"' });
        expect((await setup.events(b)).at(-1)).toMatchObject({ data: '"of b"' });
      },
    },
    {
      title: "a runtime that takes over an instance receives the whole history",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText(), eventText()] });
        await setup.turn(held, { events: [eventText()], release: true });
        await setup.commit(sendItem({ id: "a" }));
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.history).toEqual(await setup.provider.readHistory(held));
        expect(leased.history).toHaveLength(3);
        expect(leased.lastEvent).toBe(4);
      },
    },
    {
      title: "the history of an ended instance stays readable",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.eventKinds(held)).toEqual([
          "OrchestrationStarted",
          "OrchestrationCompleted",
        ]);
      },
    },
    {
      title: "an execution record contains its last event and the time of that event",
      async run(setup) {
        const startedAt = setup.environment.now();
        const held = await setup.hold("a", { started: startedText() });
        await setup.environment.advance(1_500);
        await setup.complete(held, '"end"');
        const executions = await setup.provider.readExecutions(held.key);
        expect(executions).toHaveLength(1);
        expect(executions[0]).toMatchObject({
          execution: 1,
          startedAt,
          lastEvent: 2,
          lastAt: startedAt + 1_500,
        });
        expect(JSON.parse(executions[0]?.lastBody ?? "")).toEqual(
          JSON.parse(completedText('"end"')),
        );
      },
    },
  ],
};
