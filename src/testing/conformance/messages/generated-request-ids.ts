// Contract of generated request ids: the store remembers a generated id as long as the sender may retry. It
// remembers an id that the caller chose as long as the instance exists (semantics 18a).

import { expect } from "vitest";
import { generateRequestId } from "../../../core/ids/request-ids.ts";
import type { SendItem } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  eventText,
  fresh,
  type Held,
  LEASE_LOST,
  sendItem,
  startedText,
  startItem,
  turnItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const KEPT_MS = 6 * 3_600_000;
const YEAR_MS = 365 * 86_400_000;
/** Chosen ids that sort just before and after generated ones. */
const CHOSEN = ["approval-7", "perdure", "perdure-7", "perdure/7", "zebra"];

/** Sends an event and receives it, so that it is no longer in the inbox. */
async function sent(setup: Setup, held: Held, requestId?: string): Promise<SendItem> {
  const item = sendItem({
    id: held.id,
    requestId: requestId ?? generateRequestId(setup.environment),
  });
  expect(await setup.commit(item)).toEqual({ kind: "done" });
  const [message] = await setup.due(held);
  await setup.turn(held, { events: [eventText()], consumed: [message?.id ?? -1] });
  return item;
}

/** Continues as new and commits the first turn of the next execution. */
async function goOn(setup: Setup, held: Held): Promise<void> {
  const { due } = await continueAsNew(setup, held);
  const consumed = due.map(({ id }) => id);
  await setup.turn(held, { events: [startedText()], consumed });
}

/** Repeats a send, which must succeed, and returns the number of messages in the inbox. */
async function repeated(setup: Setup, { key }: Held, item: SendItem): Promise<number> {
  expect(await setup.commit(item)).toEqual({ kind: "done" });
  return (await setup.provider.readInbox(key)).length;
}

export const generatedRequestIds: ContractSubject = {
  subject: "generated request ids",
  cases: [
    {
      title: "within six hours a repetition sends nothing, even after continueAsNew",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await sent(setup, held);
        await goOn(setup, held);
        expect(await repeated(setup, held, item)).toBe(0);
        await setup.environment.advance(KEPT_MS);
        await goOn(setup, held);
        expect(await repeated(setup, held, item)).toBe(0);
        expect(await setup.provider.settle(item)).toEqual({ kind: "done" });
      },
    },
    {
      title: "a generated id older than six hours is forgotten when its instance continues as new",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await sent(setup, held);
        await setup.environment.advance(KEPT_MS + 1);
        expect(await repeated(setup, held, item)).toBe(0);
        await goOn(setup, held);
        expect(await setup.provider.settle(item)).toBeNull();
        expect(await repeated(setup, held, item)).toBe(1);
      },
    },
    {
      title:
        "an id that the caller chose is remembered, however often its instance continues as new",
      async run(setup) {
        const held = await setup.hold("a");
        const items: SendItem[] = [];
        for (const id of CHOSEN) items.push(await sent(setup, held, id));
        for (let execution = 2; execution < 5; execution += 1) {
          await setup.environment.advance(KEPT_MS + 1);
          await goOn(setup, held);
        }
        for (const item of items) {
          expect(await repeated(setup, held, item), item.requestId).toBe(0);
        }
      },
    },
    {
      title: "in a group of turns, only the instances that continue as new forget their ids",
      async run(setup) {
        const [a, b, c] = [await setup.hold("a"), await setup.hold("b"), await setup.hold("c")];
        const items: SendItem[] = [];
        for (const held of [a, b, c]) items.push(await sent(setup, held));
        await setup.environment.advance(KEPT_MS + 1);
        const started = startedText();
        const change = { kind: "continued", started, version: null, unread: [] } as const;
        const results = await setup.provider.commit([
          turnItem(c, { events: [eventText()], change }),
          turnItem(b, { events: [eventText()] }),
          turnItem(a, { events: [eventText()], change }),
        ]);
        expect(results.map(({ kind }) => kind)).toEqual(["committed", "committed", "committed"]);
        await setup.provider.commit(items);
        const inboxes = [];
        for (const { key } of [a, b, c]) inboxes.push(await setup.inboxKinds(key));
        expect(inboxes).toEqual([["start", "event"], [], ["start", "event"]]);
      },
    },
    {
      title: "a refused turn forgets no ids",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await sent(setup, held);
        await setup.environment.advance(KEPT_MS + 1);
        const started = startedText();
        const change = { kind: "continued", started, version: null, unread: [] } as const;
        const stale = turnItem({ ...held, token: fresh() }, { events: [eventText()], change });
        expect(await setup.commit(stale)).toEqual(LEASE_LOST);
        expect(await repeated(setup, held, item)).toBe(0);
      },
    },
    {
      title:
        "the age of a generated id is measured by the store's clock, not by the clock of its generator (I3)",
      async run(setup) {
        const { environment } = setup;
        const held = await setup.hold("a");
        const wrong = {
          now: () => environment.now() - YEAR_MS,
          randomHex: (bytes: number) => environment.randomHex(bytes),
        };
        const item = await sent(setup, held, generateRequestId(wrong));
        await environment.advance(KEPT_MS);
        await goOn(setup, held);
        expect(await repeated(setup, held, item)).toBe(0);
      },
    },
    {
      title: "an id that is sent again after it was forgotten is remembered again",
      async run(setup) {
        const held = await setup.hold("a");
        const { requestId } = await sent(setup, held);
        await setup.environment.advance(KEPT_MS + 1);
        await goOn(setup, held);
        const again = await sent(setup, held, requestId);
        await goOn(setup, held);
        expect(await repeated(setup, held, again)).toBe(0);
      },
    },
    {
      title: "the request id of a start is never forgotten, even if it was generated",
      async run(setup) {
        const requestId = generateRequestId(setup.environment);
        const held = await setup.hold("a", { requestId });
        await setup.environment.advance(KEPT_MS + 1);
        await goOn(setup, held);
        const start = startItem({ id: "a", requestId });
        expect(await setup.commit(start)).toMatchObject({ kind: "started", execution: 1 });
      },
    },
  ],
};
