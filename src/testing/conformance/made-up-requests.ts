// Made-up request ids: those of sends whose callers gave none are remembered for as long as anybody may repeat them,
// those that callers chose for as long as their instance (semantics 18a).

import { expect } from "vitest";
import { makeUpRequestId } from "../../core/request-ids.ts";
import type { SendItem } from "../../core/provider/index.ts";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "./contract-case.ts";
import {
  eventText,
  fresh,
  type Held,
  sendItem,
  startedText,
  startItem,
  turnItem,
} from "./fixture.ts";
import type { Setup } from "./setup.ts";

const KEPT_MS = 6 * 3_600_000;
const YEAR_MS = 365 * 86_400_000;
/** Around the made-up ones, in the order of their bytes. */
const CHOSEN = ["approval-7", "perdure", "perdure-7", "perdure/7", "zebra"];

/** A send that has been received: nothing of it is in the inbox any more. */
async function sent(setup: Setup, held: Held, requestId?: string): Promise<SendItem> {
  const item = sendItem({
    id: held.id,
    requestId: requestId ?? makeUpRequestId(setup.environment),
  });
  expect(await setup.commit(item)).toEqual({ kind: "done" });
  const [message] = await setup.due(held);
  await setup.turn(held, { events: [eventText()], consumed: [message?.id ?? -1] });
  return item;
}

/** Goes on in the next execution, after its first turn. */
async function goOn(setup: Setup, held: Held): Promise<void> {
  const { due } = await continueAsNew(setup, held);
  const consumed = due.map(({ id }) => id);
  await setup.turn(held, { events: [startedText()], consumed });
}

/** How often the repetition of a send is delivered: it is done in any case. */
async function repeated(setup: Setup, { key }: Held, item: SendItem): Promise<number> {
  expect(await setup.commit(item)).toEqual({ kind: "done" });
  return (await setup.provider.readInbox(key)).length;
}

export const madeUpRequests: ContractSubject = {
  subject: "made-up request ids",
  cases: [
    {
      title: "within six hours a repetition sends nothing, though its instance continued as new",
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
      title: "one that is older than six hours is forgotten when its instance continues as new",
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
      title: "an id that a caller chose is remembered, however often its instance continues as new",
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
      title: "of a group of turns, those that continue as new forget theirs and no other does",
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
      title: "a turn that is refused forgets nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await sent(setup, held);
        await setup.environment.advance(KEPT_MS + 1);
        const started = startedText();
        const change = { kind: "continued", started, version: null, unread: [] } as const;
        const stale = turnItem({ ...held, token: fresh() }, { events: [eventText()], change });
        expect(await setup.commit(stale)).toEqual({ kind: "refused", code: "LEASE_LOST" });
        expect(await repeated(setup, held, item)).toBe(0);
      },
    },
    {
      title: "the store's clock says how old one is, not that of whoever made it up (I3)",
      async run(setup) {
        const { environment } = setup;
        const held = await setup.hold("a");
        const wrong = {
          now: () => environment.now() - YEAR_MS,
          randomHex: (bytes: number) => environment.randomHex(bytes),
        };
        const item = await sent(setup, held, makeUpRequestId(wrong));
        await environment.advance(KEPT_MS);
        await goOn(setup, held);
        expect(await repeated(setup, held, item)).toBe(0);
      },
    },
    {
      title: "what was sent anew is remembered anew",
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
      title: "the request id of a start is kept, whoever made it up",
      async run(setup) {
        const requestId = makeUpRequestId(setup.environment);
        const held = await setup.hold("a", { requestId });
        await setup.environment.advance(KEPT_MS + 1);
        await goOn(setup, held);
        const start = startItem({ id: "a", requestId });
        expect(await setup.commit(start)).toMatchObject({ kind: "started", execution: 1 });
      },
    },
  ],
};
