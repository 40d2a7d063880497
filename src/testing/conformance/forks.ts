// Forks: a new instance with a copied past, due at once (semantics 21a).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { BETA, eventText, forkItem, heldFrom, VERSION } from "./fixture.ts";

export const forks: ContractSubject = {
  subject: "forks",
  cases: [
    {
      title: "a fork has the copied past and is due at once, without a start message",
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
      title: "a fork's first turn goes on where the copied past ends",
      async run(setup) {
        await setup.commit(forkItem("copy"));
        const leased = await setup.leaseOnly("copy", BETA);
        const held = heldFrom(leased);
        const consumed = leased.messages.map(({ id }) => id);
        await setup.turn(held, { events: [eventText("3")], consumed });
        expect((await setup.events(held)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
        expect(await setup.read("copy")).toMatchObject({ status: "running", lastEvent: 4 });
      },
    },
    {
      title: "an instance that is no fork has nothing copied",
      async run(setup) {
        await setup.start("a");
        expect(await setup.leaseOnly("a")).toMatchObject({ copiedUntil: 0 });
      },
    },
    {
      title: "a fork takes status and key-values along, and no parent",
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
      title: "a fork to a taken id is refused and changes nothing",
      async run(setup) {
        const held = await setup.hold("taken");
        const record = await setup.read("taken");
        expect(await setup.commit(forkItem("taken"))).toEqual({
          kind: "refused",
          code: "INSTANCE_EXISTS",
        });
        expect(await setup.read("taken")).toEqual(record);
        expect(await setup.events(held)).toHaveLength(1);
      },
    },
  ],
};
