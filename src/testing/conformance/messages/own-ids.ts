// Contract of dispatched sends whose request ids no other item has (provider.asks.6).

import { expect } from "vitest";
import type { Dispatch } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  askerOf,
  askItem,
  eventText,
  keepItem,
  LEASE_LOST,
  sendItem,
  turnItem,
} from "../fixture.ts";
import { notSent, numbered, replies, sent } from "./dispatches.ts";

/** As an engine dispatches events: their request ids derive from the calls. */
function withOwnIds(dispatched: readonly Dispatch[]): Dispatch[] {
  return dispatched.map((each) => (each.item.kind === "send" ? { ...each, hasOwnId: true } : each));
}

export const ownIds: ContractSubject = {
  subject: "dispatched sends with their own ids",
  cases: [
    {
      title: "sends with their own ids keep their order among other items (provider.asks.6)",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const request = askItem({ id: "b", data: "2", asker: askerOf(held, 3) });
        const items = [sendItem({ id: "b", data: "1" }), request, sendItem({ id: "b", data: "3" })];
        const dispatched = withOwnIds(numbered(held, items));
        const { due } = await setup.turn(held, {
          events: items.map(() => eventText()),
          dispatched,
        });
        expect(replies(due)).toEqual([sent(2), sent(4)]);
        expect((await setup.due(other)).map(({ data }) => data)).toEqual(["1", "2", "3"]);
      },
    },
    {
      title: "a send with its own id to a missing or ended instance is refused or kept",
      async run(setup) {
        const [held, ended] = [await setup.hold("a"), await setup.hold("ended")];
        await setup.complete(ended);
        const kept = keepItem({ id: "soon", data: "kept" });
        const items = [sendItem({ id: "missing" }), sendItem({ id: "ended" }), kept];
        const dispatched = withOwnIds(numbered(held, items));
        const result = await setup.turn(held, { events: items.map(() => eventText()), dispatched });
        expect(replies(result.due)).toMatchObject([
          notSent(2, "INSTANCE_NOT_FOUND"),
          notSent(3, "INSTANCE_FINISHED"),
          sent(4),
        ]);
        expect(await setup.commit(kept)).toEqual({ kind: "done" });
        const { key } = await setup.start("soon");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "a turn that is repeated sends nothing again, although its event was consumed",
      async run(setup) {
        const [held, other] = [await setup.hold("a"), await setup.hold("b")];
        const dispatched = withOwnIds(numbered(held, [sendItem({ id: "b" })]));
        const turn = turnItem(held, { events: [eventText()], dispatched });
        expect(await setup.commit(turn)).toMatchObject({ kind: "committed" });
        expect(await setup.provider.settle(turn)).toMatchObject({ kind: "committed" });
        const [event] = await setup.due(other);
        await setup.turn(other, { events: [eventText()], consumed: [event?.id ?? -1] });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(other.key)).toEqual([]);
      },
    },
  ],
};
