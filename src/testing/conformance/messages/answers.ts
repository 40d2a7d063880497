// Contract of answers: they are stored with the request id as long as a client may read them, and requests
// survive until they are answered (provider.asks.2).

import { expect } from "vitest";
import { generateRequestId } from "../../../core/ids/request-ids.ts";
import { requestMessageKey } from "../../../core/ids/request-messages.ts";
import type { AskItem } from "../../../core/provider/index.ts";
import { continueAsNew } from "../instances/continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import { askItem, eventText, startedText, terminateItem } from "../fixture.ts";
import { answer, ANSWER, asked, receive, stateOf } from "./asks.ts";

const KEPT_MS = 6 * 3_600_000;

export const answers: ContractSubject = {
  subject: "answers",
  cases: [
    {
      title: "a request that no turn has received waits for the next execution",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        const { due } = await continueAsNew(setup, held);
        expect(due.map(({ kind }) => kind)).toEqual(["start", "event"]);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        await receive(setup, held);
        await answer(setup, held, item);
        expect(await setup.commit(item)).toMatchObject({ execution: 1, answer: ANSWER });
      },
    },
    {
      title: "a received request that is put back keeps its key and can be answered later",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        const { name, data, requestId } = item;
        const key = requestMessageKey(requestId);
        const { due } = await continueAsNew(setup, held, { unread: [{ name, data, key }] });
        expect(due).toMatchObject([{ kind: "start" }, { kind: "event", name, data, key }]);
        const consumed = due.map(({ id }) => id);
        const answers = [{ requestId, answer: ANSWER }];
        await setup.turn(held, { events: [startedText()], consumed, answers });
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", answer: ANSWER });
      },
    },
    {
      title: "a turn that continues as new can answer",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        await continueAsNew(setup, held, { answers: [{ ...item, answer: ANSWER }] });
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", answer: ANSWER });
      },
    },
    {
      title: "the generated id of an open ask is never forgotten, that of an answered one later",
      async run(setup) {
        const held = await setup.hold("a");
        const requestId = generateRequestId(setup.environment);
        const item = await asked(setup, held, { requestId });
        await receive(setup, held);
        await setup.environment.advance(2 * KEPT_MS);
        // The store keeps the answer although the request is old: its client may not have read it yet.
        await continueAsNew(setup, held, { answers: [{ ...item, answer: ANSWER }] });
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", answer: ANSWER });
        await setup.environment.advance(KEPT_MS + 1);
        await continueAsNew(setup, held);
        expect(await stateOf(setup, item)).toBeUndefined();
      },
    },
    {
      title: "an open ask with a generated id survives continueAsNew after any time",
      async run(setup) {
        const held = await setup.hold("a");
        const requestId = generateRequestId(setup.environment);
        const item = await asked(setup, held, { requestId });
        await receive(setup, held);
        await setup.environment.advance(2 * KEPT_MS);
        await continueAsNew(setup, held);
        expect(await stateOf(setup, item)).toMatchObject({ state: "open" });
        await answer(setup, held, item);
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered" });
      },
    },
    {
      title: "the answer to an ask with a chosen id is kept as long as its instance",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        await answer(setup, held, item);
        await setup.environment.advance(2 * KEPT_MS);
        await continueAsNew(setup, held);
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", answer: ANSWER });
        await setup.commit(terminateItem("a"));
        await setup.provider.deleteInstance({ id: "a", force: false });
        expect(await setup.provider.readAsks("a", [item.requestId])).toBeNull();
        await setup.hold("a");
        expect(await stateOf(setup, item)).toBeUndefined();
      },
    },
    {
      title: "one turn can answer a thousand requests",
      async run(setup) {
        const held = await setup.hold("a");
        const items = Array.from({ length: 1_000 }, (_, n) =>
          askItem({ id: "a", requestId: `r${n}` }),
        );
        await setup.provider.commit(items);
        const answers = items.map(({ requestId }) => ({ requestId, answer: `"${requestId}"` }));
        const consumed = (await setup.due(held, 1_000)).map(({ id }) => id);
        await setup.turn(held, { events: [eventText()], consumed, answers });
        const ids = items.map(({ requestId }) => requestId);
        const records = (await setup.provider.readAsks("a", ids))?.asks ?? [];
        expect(records).toHaveLength(1_000);
        expect(records.every((each) => each.answer === `"${each.requestId}"`)).toBe(true);
      },
    },
    {
      title: "an answer to an unknown request, and a second answer, change nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        const second = { requestId: item.requestId, answer: '{"output":"second"}' };
        const unknown = { requestId: "unknown", answer: ANSWER };
        await answer(setup, held, item);
        await setup.turn(held, { events: [eventText()], answers: [second, unknown] });
        const records = await setup.provider.readAsks("a", [item.requestId, "unknown"]);
        expect(records?.asks).toMatchObject([{ requestId: item.requestId, answer: ANSWER }]);
      },
    },
    {
      title: "request ids and answers with any text are read back",
      async run(setup) {
        const held = await setup.hold("a");
        const texts = ["", '"', "'", "{1,NULL}", "\\", "NULL", "🦊", "a,b"];
        const items: AskItem[] = [];
        for (const requestId of texts) items.push(await asked(setup, held, { requestId }));
        const answers = texts.map((text) => ({ requestId: text, answer: JSON.stringify(text) }));
        await setup.turn(held, { events: [eventText()], answers });
        const records = (await setup.provider.readAsks("a", texts))?.asks ?? [];
        const byId = new Map(records.map((record) => [record.requestId, record.answer]));
        expect(byId).toEqual(new Map(texts.map((text) => [text, JSON.stringify(text)])));
      },
    },
    {
      title: "a damaged answer is reported as damaged",
      needs: ["corruptAnswer"],
      async run(setup) {
        const held = await setup.hold("a");
        const item = await asked(setup, held);
        await receive(setup, held);
        await answer(setup, held, item);
        const { key } = held;
        await setup.tamper.corruptAnswer({
          key,
          requestId: item.requestId,
          text: '{"output":"7"}',
        });
        expect(await stateOf(setup, item)).toMatchObject({ state: "answered", damaged: true });
        expect(await setup.commit(item)).toMatchObject({ kind: "asked", answer: null });
      },
    },
  ],
};
