// What a turn that releases its instance, or fixes its version, leaves for the next worker.

import { expect } from "vitest";
import { registerCases } from "../../../src/testing/conformance/index.ts";
import {
  ALPHA,
  eventText,
  ORDER,
  sendItem,
  VERSION,
} from "../../../src/testing/conformance/fixture.ts";
import { IN_MEMORY, openInMemory } from "../../stores/conformance/sqlite-store.ts";

registerCases(
  {
    subject: "turns of SQLite",
    cases: [
      {
        title:
          "an instance that is released with open steps is due at once, so that a worker runs them",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.turn(held, { events: [eventText()], stepsOpen: true, release: true });
          const { messages } = await setup.leaseOnly("a");
          expect(messages.map(({ kind }) => kind)).toEqual(["wake"]);
        },
      },
      {
        title: "an instance that is released without open steps is not due",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.turn(held, { events: [eventText()], release: true });
          await setup.leaseNothing();
        },
      },
      {
        title: "an instance that a turn keeps is not woken for its open steps",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.turn(held, { events: [eventText()], stepsOpen: true });
          const { due } = await setup.turn(held, { events: [eventText()], stepsOpen: true });
          expect(due).toEqual([]);
        },
      },
      {
        title:
          "messages that arrived before a turn fixed the version wait for a worker with that version",
        async run(setup) {
          await setup.start("a", { version: null });
          const leased = await setup.leaseOnly("a", ALPHA, { targets: [ORDER] });
          const { key, runId, execution, token, lastEvent } = leased;
          const held = { id: "a", runId, key, execution, token, lastEvent };
          await setup.commit(sendItem({ id: "a" }));
          await setup.turn(held, { events: [eventText()], version: "2.0.0", release: true });
          await setup.leaseNothing(ALPHA, { targets: [ORDER, `${ORDER}@${VERSION}`] });
          await setup.leaseOnly("a", ALPHA, { targets: [`${ORDER}@2.0.0`] });
        },
      },
      {
        title:
          "a turn that keeps its instance returns the messages that are due, one that releases it does not",
        async run(setup) {
          const held = await setup.hold("a");
          await setup.commit(sendItem({ id: "a" }));
          const kept = await setup.turn(held, { events: [eventText()] });
          expect(kept.due.map(({ kind }) => kind)).toEqual(["event"]);
          const released = await setup.turn(held, { events: [eventText()], release: true });
          expect(released.due).toEqual([]);
        },
      },
      {
        title:
          "an instance that ended with a result is read with its result, one without with neither",
        async run(setup) {
          const [done, empty] = [await setup.hold("done"), await setup.hold("empty")];
          await setup.complete(done, '"value"');
          await setup.turn(empty, {
            events: [eventText()],
            change: { kind: "ended", status: "terminated", output: null, error: null },
          });
          const record = async (id: string) => setup.provider.readInstance(id);
          expect(await record("done")).toMatchObject({ status: "completed", output: '"value"' });
          expect(await record("empty")).toMatchObject({ output: null, error: null });
        },
      },
    ],
  },
  openInMemory,
  IN_MEMORY,
);
