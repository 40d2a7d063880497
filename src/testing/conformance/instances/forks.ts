// Contract of forks: a new instance with a copied history is due at once (semantics 21a).

import { expect } from "vitest";
import { continueAsNew } from "./continue-as-new.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  forkItem,
  heldFrom,
  keepItem,
  newInstance,
  refused,
  sendItem,
  startItem,
  terminateItem,
  VERSION,
} from "../fixture.ts";

export const forks: ContractSubject = {
  subject: "forks",
  cases: [
    {
      title: "a fork has the copied history and is due at once, without a start message",
      async run(setup) {
        const item = forkItem("copy");
        const result = await setup.commit(item);
        expect(result).toMatchObject({ kind: "started", execution: 1 });
        const leased = await setup.leaseOnly("copy", BETA);
        expect(leased).toMatchObject({
          runId: item.instance.runId,
          version: VERSION,
          execution: 1,
          lastEvent: 3,
          copiedUntil: 3,
          fresh: true,
        });
        expect(leased.history).toEqual(item.rows);
        expect(leased.messages.map(({ kind }) => kind)).not.toContain("start");
      },
    },
    {
      title: "the first turn of a fork continues after the copied history",
      async run(setup) {
        await setup.commit(forkItem("copy"));
        const leased = await setup.leaseOnly("copy", BETA);
        const held = heldFrom(leased);
        const consumed = leased.messages.map(({ id }) => id);
        await setup.turn(held, { events: [eventText("3")], consumed });
        expect((await setup.events(held)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
        expect(await setup.read("copy")).toMatchObject({
          status: "running",
          lastEvent: 4,
          copiedUntil: 3,
        });
      },
    },
    {
      title: "an instance that is not a fork has no copied events",
      async run(setup) {
        await setup.start("a");
        expect(await setup.leaseOnly("a")).toMatchObject({ copiedUntil: 0 });
        expect(await setup.read("a")).toMatchObject({ copiedUntil: 0 });
      },
    },
    {
      title: "a fork copies the status and the key-values, and has no parent",
      async run(setup) {
        await setup.commit(forkItem("copy", { status: '"half"', keyValues: [["k", "1", 5]] }));
        expect(await setup.read("copy")).toMatchObject({ customStatus: '"half"', parent: null });
        expect(await setup.provider.readKeyValue("copy", "k")).toMatchObject({
          value: "1",
          updatedAt: 5,
        });
      },
    },
    {
      title: "a fork to an existing id is refused and changes nothing",
      async run(setup) {
        const held = await setup.hold("taken");
        const record = await setup.read("taken");
        expect(await setup.commit(forkItem("taken"))).toEqual(refused("INSTANCE_EXISTS"));
        expect(await setup.read("taken")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
    {
      title: "a fork without a status has status version 0",
      async run(setup) {
        await setup.commit(forkItem("plain"));
        await setup.commit(forkItem("copy", { status: '"half"' }));
        expect(await setup.read("plain")).toMatchObject({
          customStatus: null,
          customStatusVersion: 0,
        });
        const { customStatusVersion } = await setup.read("copy");
        expect(customStatusVersion).toBeGreaterThan(0);
      },
    },
    {
      title: "a fork is running at once, with its own name, attributes and priority",
      async run(setup) {
        const instance = newInstance({
          id: "copy",
          name: "other",
          version: "2.1.0",
          priority: 1,
          attributes: { customer: "42" },
        });
        await setup.commit(forkItem("copy", { instance }));
        expect(await setup.read("copy")).toMatchObject({
          status: "running",
          name: "other",
          version: "2.1.0",
          priority: 1,
          attributes: { customer: "42" },
          execution: 1,
          lastEvent: 3,
          owner: null,
          completedAt: null,
          createdAt: setup.environment.now(),
        });
        await setup.leaseNothing(BETA);
        await setup.leaseOnly("copy", BETA, { targets: ["other@2.1.0"] });
      },
    },
    {
      title: "a fork is reported as due",
      async run(setup) {
        const due: string[] = [];
        setup.provider.subscribe((news) => due.push(...news.due));
        await setup.commit(forkItem("copy"));
        await setup.environment.settle();
        expect(due).toEqual(["copy"]);
      },
    },
    {
      title: "a fork receives the early events for its id, in order",
      async run(setup) {
        for (const data of ["1", "2"]) await setup.commit(keepItem({ id: "copy", data }));
        await setup.commit(forkItem("copy"));
        await setup.commit(sendItem({ id: "copy", data: "3" }));
        const { messages } = await setup.leaseOnly("copy");
        const events = messages.filter(({ kind }) => kind === "event");
        expect(events.map(({ data }) => data)).toEqual(["1", "2", "3"]);
      },
    },
    {
      title:
        "every cold lease of a fork returns the number of copied events, which belong to its first execution",
      async run(setup) {
        await setup.commit(forkItem("copy"));
        const held = heldFrom(await setup.leaseOnly("copy", ALPHA));
        await setup.turn(held, { events: [eventText("3")], release: true });
        const again = await setup.leaseOnly("copy", BETA);
        expect(again).toMatchObject({ copiedUntil: 3, lastEvent: 4 });
        const second = heldFrom(again);
        await continueAsNew(setup, second, { release: true });
        expect(await setup.leaseOnly("copy", ALPHA)).toMatchObject({
          execution: 2,
          copiedUntil: 0,
        });
      },
    },
    {
      title: "a restart of a fork has no copied events",
      async run(setup) {
        await setup.commit(forkItem("copy"));
        await setup.commit(terminateItem("copy"));
        expect(await setup.read("copy")).toMatchObject({ status: "terminated", lastEvent: 4 });
        await setup.commit(startItem({ id: "copy", onConflict: "restart" }));
        expect(await setup.leaseOnly("copy")).toMatchObject({ execution: 2, copiedUntil: 0 });
      },
    },
    {
      title: "a fork does not change its source or the messages of the source (21a)",
      async run(setup) {
        const source = await setup.hold("source");
        await setup.commit(sendItem({ id: "source" }));
        const record = await setup.read("source");
        const rows = await setup.provider.readHistory(source);
        await setup.commit(forkItem("copy", { rows }));
        expect(await setup.read("source")).toEqual(record);
        expect(await setup.inboxKinds(source.key)).toEqual(["event"]);
        const { messages, history } = await setup.leaseOnly("copy");
        expect(history).toEqual(rows);
        expect(messages.map(({ kind }) => kind)).not.toContain("event");
        await setup.turn(source, { events: [eventText()] });
      },
    },
    {
      title: "of two forks to one id, only one is created, and a fork settles by its run id (I14)",
      async run(setup) {
        const [mine, theirs] = [forkItem("copy"), forkItem("copy")];
        expect(await setup.provider.settle(mine)).toBeNull();
        const [first, second] = await setup.provider.commit([mine, theirs]);
        expect(second).toEqual(refused("INSTANCE_EXISTS"));
        expect(await setup.provider.settle(mine)).toEqual(first);
        expect(await setup.provider.settle(theirs)).toBeNull();
      },
    },
  ],
};
