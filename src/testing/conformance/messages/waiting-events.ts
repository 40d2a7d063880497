// Contract of waiting events: events that the code does not receive now stay in the inbox and do not make the
// instance due (semantics 18a).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import { BETA, eventText, heldFrom, sendItem } from "../fixture.ts";

export const waitingEvents: ContractSubject = {
  subject: "waiting events",
  cases: [
    {
      title: "parked events do not make an instance due until a later turn makes them ready (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        const [first] = await setup.due(held);
        const { due } = await setup.turn(held, {
          ...{ events: [eventText()], consumed: [first?.id ?? -1], waitingEvents: "park" },
          timers: [{ kind: "timer", sequence: 2, delayMs: 1_000 }],
        });
        expect(due).toEqual([]);
        await setup.commit(sendItem({ id: "a", data: "4" }));
        expect(await setup.due(held)).toEqual([]);
        await setup.turn(held, { events: [eventText()], waitingEvents: "park", release: true });
        await setup.leaseNothing(BETA);
        await setup.environment.advance(2_000);
        const later = await setup.leaseOnly("a", BETA);
        expect(later.messages.map(({ kind }) => kind)).toEqual(["timer"]);
        const again = await setup.turn(heldFrom(later), {
          ...{ events: [eventText()], waitingEvents: "ready" },
          consumed: later.messages.map(({ id }) => id),
        });
        expect(again.due.map(({ data }) => data)).toEqual(["2", "3", "4"]);
      },
    },
    {
      title: "an event makes an instance with an empty inbox due (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], waitingEvents: "park" });
        await setup.commit(sendItem({ id: "a", data: "1" }));
        expect((await setup.due(held)).map(({ data }) => data)).toEqual(["1"]);
        await setup.turn(held, { waitingEvents: "park" });
        expect(await setup.due(held)).toEqual([]);
        const { due } = await setup.turn(held, { waitingEvents: "ready" });
        expect(due.map(({ data }) => data)).toEqual(["1"]);
      },
    },
    {
      title: "parked events are kept by continueAsNew, in their order (18a, P4)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const data of ["1", "2", "3"]) await setup.commit(sendItem({ id: "a", data }));
        await setup.turn(held, { events: [eventText()], waitingEvents: "park" });
        const { due } = await continueAsNew(setup, held);
        expect(due.map(({ kind, data }) => (kind === "event" ? data : kind))).toEqual([
          ...["start", "1", "2", "3"],
        ]);
      },
    },
  ],
};
